; From the start of the pipeline on, ordered atomics are barriers for the compiler, so that no global stays in a register across a lock's function.
; PIPELINE: dsm-early,require<globals-aa>,function(early-cse<memssa>)
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@count = internal global i64 0
@lock = internal global i8 0

; CHECK-LABEL: define void @take
; CHECK-NEXT: call void asm sideeffect "", "~{memory}"()
; CHECK-NEXT: atomicrmw xchg
; CHECK-NEXT: call void asm sideeffect "", "~{memory}"()
; CHECK-NEXT: atomicrmw add
; CHECK-NEXT: ret void
define void @take() noinline {
  %old = atomicrmw xchg ptr @lock, i8 1 acquire
  %new = atomicrmw add ptr @lock, i8 2 monotonic
  ret void
}

; CHECK-LABEL: define i64 @add
; CHECK: load i64, ptr @count
; CHECK: call void @take()
; CHECK: load i64, ptr @count
define i64 @add() {
  %a = load i64, ptr @count
  call void @take()
  %b = load i64, ptr @count
  %c = add i64 %a, %b
  ret i64 %c
}

define void @set() {
  store i64 1, ptr @count
  ret void
}

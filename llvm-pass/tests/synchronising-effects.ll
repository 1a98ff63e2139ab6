; What LLVM found out about functions that synchronise is not true between processes: a lock's function changes more than the lock.
; PIPELINE: require<globals-aa>,dsm,function(early-cse<memssa>)
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@count = internal global i64 0
@lock = internal global i8 0

define internal void @take(ptr %l) #0 {
; CHECK: define internal void @take(ptr %l) #[[TAKE:[0-9]+]]
  %old = atomicrmw xchg ptr %l, i8 1 acquire
  ret void
}

define i64 @add() {
; CHECK-LABEL: define i64 @add
; CHECK: load i64, ptr @count
; CHECK: call void @take(ptr @lock) #[[TAKE]]
; CHECK: load i64, ptr @count
; CHECK: ret i64
  %a = load i64, ptr @count
  call void @take(ptr @lock) #0
  %b = load i64, ptr @count
  %c = add i64 %a, %b
  ret i64 %c
}

define void @set() {
  store i64 1, ptr @count
  ret void
}

; CHECK: attributes #[[TAKE]] = { noinline nounwind }
attributes #0 = { noinline nounwind nosync memory(argmem: readwrite) }

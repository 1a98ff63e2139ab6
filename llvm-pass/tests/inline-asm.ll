; Inline assembly with an operand in shared memory, or with its address, is warned about; a barrier for the compiler is not.
; STDERR
; CHECK-COUNT-1: inline assembly with an operand in memory that may be shared
; CHECK-NEXT: inline assembly gets the address of memory that may be shared
; CHECK-NOT: inline assembly
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p) {
  call void asm sideeffect "incl $0", "=*m,*m,~{memory}"(ptr elementtype(i32) %p, ptr elementtype(i32) %p)
  call void asm sideeffect "incl ($0)", "r,~{memory}"(ptr %p)
  ret void
}

define void @none(ptr %p) {
  %own = alloca i32
  call void asm sideeffect "incl $0", "=*m,*m"(ptr elementtype(i32) %own, ptr elementtype(i32) %own)
  call void asm sideeffect "", "=*m,*m,~{memory}"(ptr elementtype(i32) %p, ptr elementtype(i32) %p)
  call void asm sideeffect "", "r,~{memory}"(ptr %p)
  call void asm sideeffect "pause", "~{memory}"()
  call void asm sideeffect "incl $0", "r"(i32 1)
  ret void
}

; Inline assembly with a memory operand in shared memory is warned about.
; STDERR
; CHECK: inline assembly with an operand in memory that may be shared
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p) {
  call void asm sideeffect "incl $0", "=*m,*m,~{memory}"(ptr elementtype(i32) %p, ptr elementtype(i32) %p)
  ret void
}

; Promises that memory is never written are dropped: a miss writes it, and loads must stay behind their checks.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @f(ptr noalias readonly %p) {
; CHECK-LABEL: define i32 @f(ptr noalias %p)
; CHECK: load i32, ptr %p, align 4{{$}}
  %v = load i32, ptr %p, align 4, !invariant.load !0
  ret i32 %v
}
!0 = !{}

; Must not merge: a barrier may invalidate.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @__kmpc_barrier(ptr, i32)
define i32 @f(ptr %p) {
; CHECK-LABEL: define i32 @f
; CHECK: load atomic i8
; CHECK: call void @__kmpc_barrier
; CHECK: load atomic i8
  %a = load i32, ptr %p, align 4
  call void @__kmpc_barrier(ptr null, i32 0)
  %b = load i32, ptr %p, align 4
  %s = add i32 %a, %b
  ret i32 %s
}

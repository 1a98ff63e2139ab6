; What a parallel region captures escapes; loop bounds handed to the runtime do not.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @__kmpc_fork_call(ptr, i32, ptr, ...)
declare void @__kmpc_for_static_init_4(ptr, i32, i32, ptr, ptr, ptr, ptr, i32, i32)
define internal void @body(ptr noalias %gtid, ptr noalias %btid, ptr %x) {
; CHECK-LABEL: define internal void @body
; CHECK: %last = alloca i32
; CHECK: %lb = alloca i32
; CHECK-NOT: load atomic
; CHECK: %t = load i32, ptr %gtid
; CHECK: load atomic
; CHECK: store i32 %t, ptr %x
  %last = alloca i32, align 4
  %lb = alloca i32, align 4
  %ub = alloca i32, align 4
  %st = alloca i32, align 4
  %t = load i32, ptr %gtid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %t, i32 34, ptr %last, ptr %lb, ptr %ub, ptr %st, i32 1, i32 1)
  store i32 %t, ptr %x, align 4
  ret void
}
define void @f() {
; CHECK-LABEL: define void @f
; CHECK: %dsm.frame
; CHECK: call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @body, ptr %dsm.frame)
  %x = alloca i32, align 4
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @body, ptr %x)
  ret void
}

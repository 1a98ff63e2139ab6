; The list of a reduction and the private copies in it stay on the native stack, if the function that combines them leaves no copy of their
; addresses behind.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@kept = global ptr null
declare i32 @__kmpc_reduce(ptr, i32, i32, i64, ptr, ptr, ptr)
declare void @llvm.lifetime.start.p0(ptr)
declare void @elsewhere(ptr)

define internal void @combine(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  %b = load ptr, ptr %from, align 8
  %x = load double, ptr %a, align 8
  %y = load double, ptr %b, align 8
  %z = fadd double %x, %y
  store double %z, ptr %a, align 8
  ret void
}
define internal void @keeps(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  store ptr %a, ptr @kept, align 8
  ret void
}
define internal void @hands_on(ptr %to, ptr %from) {
  call void @elsewhere(ptr %from)
  ret void
}

define i32 @sum(double %x) {
; CHECK-LABEL: define i32 @sum
; CHECK-NOT: dsm.frame
; CHECK-NOT: load atomic
; CHECK: call i32 @__kmpc_reduce
; CHECK: ret i32
  %sum = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  call void @llvm.lifetime.start.p0(ptr %list)
  store double %x, ptr %sum, align 8
  store ptr %sum, ptr %list, align 8
  %r = call i32 @__kmpc_reduce(ptr null, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr null)
  ret i32 %r
}
define i32 @kept_by_function(double %x) {
; CHECK-LABEL: define i32 @kept_by_function
; CHECK: dsm.frame
; CHECK: load atomic
; CHECK: store double %x
  %sum = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  store double %x, ptr %sum, align 8
  store ptr %sum, ptr %list, align 8
  %r = call i32 @__kmpc_reduce(ptr null, i32 0, i32 1, i64 8, ptr %list, ptr @keeps, ptr null)
  ret i32 %r
}
define i32 @kept_elsewhere(double %x) {
; CHECK-LABEL: define i32 @kept_elsewhere
; CHECK: dsm.frame
; CHECK: load atomic
; CHECK: store double %x
  %sum = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  store double %x, ptr %sum, align 8
  store ptr %sum, ptr %list, align 8
  %r = call i32 @__kmpc_reduce(ptr null, i32 0, i32 1, i64 8, ptr %list, ptr @hands_on, ptr null)
  ret i32 %r
}
define i32 @seen_by_others(double %x) {
; CHECK-LABEL: define i32 @seen_by_others
; CHECK: dsm.frame
; CHECK: load atomic
; CHECK: store double %x
  %sum = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  store double %x, ptr %sum, align 8
  store ptr %sum, ptr %list, align 8
  call void @elsewhere(ptr %list)
  %r = call i32 @__kmpc_reduce(ptr null, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr null)
  ret i32 %r
}

; A local whose address is stored moves to the shared stack, and the pointer is put back before each return.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK: @__dsm_shared_sp = external thread_local(initialexec) global ptr
define void @f(ptr %out, i1 %c) {
; CHECK-LABEL: define void @f
; CHECK: %[[TP:.*]] = call {{.*}}ptr @llvm.threadlocal.address.p0(ptr {{.*}}@__dsm_shared_sp)
; CHECK-NEXT: %[[SP:.*]] = load ptr, ptr %[[TP]]
; CHECK-NEXT: %dsm.frame = getelementptr i8, ptr %[[SP]], i64 -16
; CHECK: store ptr %dsm.frame, ptr %[[TP]]
; CHECK-NOT: alloca
; CHECK-NOT: lifetime
; CHECK: store ptr %dsm.frame, ptr %out
; CHECK: store ptr %[[SP]], ptr %[[TP]]
; CHECK-NEXT: ret void
; CHECK: store ptr %[[SP]], ptr %[[TP]]
; CHECK-NEXT: ret void
  %x = alloca i32, align 4
  call void @llvm.lifetime.start.p0(ptr %x)
  store ptr %x, ptr %out, align 8
  br i1 %c, label %a, label %b
a:
  ret void
b:
  ret void
}
declare void @llvm.lifetime.start.p0(ptr)

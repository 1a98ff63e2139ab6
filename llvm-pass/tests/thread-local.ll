; A thread-local variable whose address escapes is accessed in the thread's block of shared memory, through checks.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@shown = internal thread_local global i64 5, align 8
@own = internal thread_local global i64 6, align 8
@elsewhere = external thread_local global [4 x i32], align 16
@defined = thread_local global i32 1, align 4
@object = internal thread_local global { i32, i32 } zeroinitializer, align 8
@_ZGVobject = internal thread_local global i8 0
@place = global ptr null
; CHECK-DAG: @__dsm_thread_local.shown = internal thread_local global ptr null
; CHECK-DAG: @__dsm_thread_local_escapes.elsewhere = extern_weak global i8
; CHECK-DAG: @__dsm_thread_local_size.elsewhere = extern_weak global i8
; CHECK-DAG: @__dsm_thread_local_escapes.defined = extern_weak global i8
; CHECK-DAG: @__dsm_thread_local_size.defined = weak_odr constant i64 4
; CHECK-NOT: @__dsm_thread_local.own
; CHECK-NOT: @__dsm_thread_local._ZGVobject

declare ptr @llvm.threadlocal.address.p0(ptr)
declare void @construct(ptr)
declare i32 @__cxa_thread_atexit(ptr, ptr, ptr)

define i64 @f() {
; CHECK-LABEL: define i64 @f
; CHECK: %[[SLOT:.*]] = call ptr @llvm.threadlocal.address.p0(ptr @__dsm_thread_local.shown)
; CHECK: %[[KNOWN:.*]] = load ptr, ptr %[[SLOT]]
; CHECK: icmp eq ptr %[[KNOWN]], null
; CHECK: %[[P:.*]] = phi ptr [ %[[KNOWN]], {{.*}} ], [ %[[NEW:.*]], %dsm.first ]
; CHECK: store ptr %[[P]], ptr @place
; CHECK: load atomic i8
; CHECK: load i64, ptr %[[P]]
; CHECK: dsm.first:
; CHECK: %[[OWN:.*]] = call ptr @llvm.threadlocal.address.p0(ptr @shown)
; CHECK: %[[NEW]] = call ptr @__dsm_thread_local(ptr %[[OWN]], ptr %[[SLOT]], i64 8, i64 8, ptr %[[OWN]], ptr null)
  %p = call ptr @llvm.threadlocal.address.p0(ptr @shown)
  store ptr %p, ptr @place
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @private() {
; CHECK-LABEL: define i64 @private
; CHECK-NOT: load atomic
; CHECK: load i64
; CHECK: ret
  %p = call ptr @llvm.threadlocal.address.p0(ptr @own)
  %v = load i64, ptr %p
  ret i64 %v
}
define i32 @outside() {
; CHECK-LABEL: define i32 @outside
; CHECK: call ptr @__dsm_thread_local(ptr {{.*}}, i64 0, i64 16, ptr @__dsm_thread_local_escapes.elsewhere, ptr @__dsm_thread_local_size.elsewhere)
  %p = call ptr @llvm.threadlocal.address.p0(ptr @elsewhere)
  %v = load i32, ptr %p
  ret i32 %v
}
define void @initialise() {
; Front ends use the variable itself there.
; CHECK-LABEL: define void @initialise
; CHECK: load ptr, ptr
; CHECK: call void @construct(ptr %{{.*}})
; CHECK: call i32 @__cxa_thread_atexit(ptr @construct, ptr %
  call void @construct(ptr getelementptr (i8, ptr @object, i64 4))
  %r = call i32 @__cxa_thread_atexit(ptr @construct, ptr @object, ptr null)
  ret void
}

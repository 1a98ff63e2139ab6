; A thread's copy of a threadprivate variable is as large as the runtime is told: a loop that stores to any of its elements, in some
; iterations, has two versions.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@bins = global [10 x double] zeroinitializer, align 16
@cache = global ptr null
declare ptr @__kmpc_threadprivate_cached(ptr, i32, ptr, i64, ptr)

define void @count(ptr noalias %which) {
; CHECK-LABEL: define void @count
; CHECK: %bins = call ptr @__kmpc_threadprivate_cached
; CHECK: call i32 @__dsm_store_ready(ptr %bins, i64 80
; CHECK: loop:
; CHECK-NOT: load atomic
; CHECK: store double %w1, ptr %q
entry:
  %bins = call ptr @__kmpc_threadprivate_cached(ptr null, i32 0, ptr @bins, i64 80, ptr @cache)
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %p = getelementptr inbounds i64, ptr %which, i64 %k
  %v = load i64, ptr %p, align 8
  %some = icmp sgt i64 %v, 0
  br i1 %some, label %hit, label %next
hit:
  %q = getelementptr inbounds double, ptr %bins, i64 %v
  %w = load double, ptr %q, align 8
  %w1 = fadd double %w, 1.0
  store double %w1, ptr %q, align 8
  br label %next
next:
  %k1 = add nuw nsw i64 %k, 1
  %more = icmp ult i64 %k1, 65536
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; Flags that threads spin on around a flush get acquire and release order; what looks alike does not.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@flag = internal global [64 x i32] zeroinitializer, align 16
@limit = internal global i32 10, align 4
@data = internal global [64 x double] zeroinitializer, align 16

declare void @__kmpc_flush(ptr)

; CHECK-LABEL: define void @reader
; The rotated loop's first look is of the same variable.
; CHECK: call void @__dsm_atomic_load(ptr %p, ptr %{{.*}}, i32 4, i32 2)
; CHECK: call void @__kmpc_flush
; CHECK: call void @__dsm_atomic_load(ptr %p, ptr %{{.*}}, i32 4, i32 2)
define void @reader(i64 %i) {
entry:
  %p = getelementptr inbounds [64 x i32], ptr @flag, i64 0, i64 %i
  %first = load i32, ptr %p, align 4
  %set = icmp ne i32 %first, 0
  br i1 %set, label %done, label %wait
wait:
  call void @__kmpc_flush(ptr null)
  %seen = load i32, ptr %p, align 4
  %go = icmp ne i32 %seen, 0
  br i1 %go, label %done, label %wait
done:
  ret void
}

; No flush here: the module's spinning decides.
; CHECK-LABEL: define void @writer
; CHECK: store double
; CHECK: call void @__dsm_atomic_store(ptr %p, ptr %{{.*}}, i32 4, i32 3)
define void @writer(i64 %i, double %x) {
  %d = getelementptr inbounds [64 x double], ptr @data, i64 0, i64 %i
  store double %x, ptr %d, align 8
  %p = getelementptr inbounds [64 x i32], ptr @flag, i64 0, i64 %i
  store i32 1, ptr %p, align 4
  ret void
}

; A flag of another module: an integer store right before a flush. Data is not.
; CHECK-LABEL: define void @elsewhere
; CHECK-NOT: __dsm_atomic_store
; CHECK: store double
; CHECK: call void @__dsm_atomic_store(ptr %p, ptr %{{.*}}, i32 4, i32 3)
; CHECK: call void @__kmpc_flush
define void @elsewhere(ptr %p, ptr %d, double %x) {
  store double %x, ptr %d, align 8
  store i32 1, ptr %p, align 4
  call void @__kmpc_flush(ptr null)
  ret void
}

; A loop that works and flushes does not make a flag of its bound.
; CHECK-LABEL: define void @works
; CHECK-NOT: __dsm_atomic
; CHECK: ret void
define void @works(ptr %d) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %a = getelementptr inbounds double, ptr %d, i32 %i
  store double 1.0, ptr %a, align 8
  call void @__kmpc_flush(ptr null)
  %next = add i32 %i, 1
  %n = load i32, ptr @limit, align 4
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

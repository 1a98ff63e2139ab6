; A nest with checks in it, per element and in front of its inner loop: in a job of one process it has none. Atomic operations that nobody waits by are instructions there.
; OPTIONS: disable=version
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p, ptr %index, ptr %sums, i64 %n, i64 %m) {
; CHECK-LABEL: define void @f
; CHECK: [[FLAG:%.*]] = load i32, ptr @__dsm_single_process
; CHECK: [[SINGLE:%.*]] = icmp ne i32 [[FLAG]], 0
; CHECK: br i1 [[SINGLE]], label %[[PLAIN:.*]], label %[[COPY:.*]]
; CHECK: outer.dsm:
; CHECK: load volatile i64
; CHECK: inner.dsm:
; CHECK: load atomic i8
; CHECK: load double
; CHECK: load atomic i8
; CHECK: store double
; CHECK: call void @__dsm_atomic_rmw
; CHECK: [[PLAIN]]:
; CHECK-NOT: load atomic i8
; CHECK-NOT: load volatile
; CHECK-NOT: call
; CHECK: atomicrmw add ptr %sums, i64 1 monotonic
; CHECK: ret void
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  %row = mul i64 %i, %m
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner ]
  %at = add i64 %row, %j
  %q = getelementptr inbounds i64, ptr %index, i64 %at
  %k = load i64, ptr %q, align 8
  %r = getelementptr inbounds double, ptr %p, i64 %k
  %x = load double, ptr %r, align 8
  %s = getelementptr inbounds double, ptr %sums, i64 %k
  store double %x, ptr %s, align 8
  %j.next = add nuw nsw i64 %j, 1
  %more = icmp ult i64 %j.next, %m
  br i1 %more, label %inner, label %latch
latch:
  %old = atomicrmw add ptr %sums, i64 1 monotonic
  %i.next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %i.next, %n
  br i1 %again, label %outer, label %exit
exit:
  ret void
}

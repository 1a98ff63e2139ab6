; An indirect access to what an argument points into: the test is of its allocation. In a job of one process the version without checks is taken in any case, and there is no further copy for that.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define double @f(ptr %p, ptr %index, i64 %n) {
; CHECK-LABEL: define double @f
; CHECK: icmp uge i64 %{{.*}}, 256
; CHECK: %[[READY:.*]] = call i32 @__dsm_load_allocation_ready(ptr %p, i64
; CHECK: %[[YES:.*]] = icmp ne i32 %[[READY]], 0
; CHECK: %[[ALL:.*]] = phi i1 [ false, %{{.*}} ], [ %[[YES]], %{{.*}} ]
; CHECK: %[[FLAG:.*]] = load i32, ptr @__dsm_single_process
; CHECK: %[[SINGLE:.*]] = icmp ne i32 %[[FLAG]], 0
; CHECK: %[[PLAIN:.*]] = or i1 %[[ALL]], %[[SINGLE]]
; CHECK: br i1 %[[PLAIN]], label %{{.*}}, label %{{.*}}, !prof
; CHECK-NOT: load i32, ptr @__dsm_single_process
; CHECK: loop.dsm:
; CHECK: load atomic i8
; CHECK: load double
; CHECK: loop:
; CHECK-NOT: load atomic
; CHECK: load double
; CHECK-NOT: load atomic
; CHECK: exit
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %ph, label %exit
ph:
  br label %loop
loop:
  %i = phi i64 [ 0, %ph ], [ %j, %loop ]
  %s = phi double [ 0.0, %ph ], [ %t, %loop ]
  %at = getelementptr inbounds i32, ptr %index, i64 %i
  %k = load i32, ptr %at, align 4
  %kk = sext i32 %k to i64
  %q = getelementptr inbounds double, ptr %p, i64 %kk
  %v = load double, ptr %q, align 8
  %t = fadd double %s, %v
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  %r = phi double [ 0.0, %entry ], [ %t, %loop ]
  ret double %r
}

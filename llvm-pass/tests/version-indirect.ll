; An indirect access has two versions of its loop: free of checks, so that it can be vectorised, and checked.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@p = external global [1000 x double], align 16

define double @f(ptr %index, i64 %n) {
; CHECK-LABEL: define double @f
; CHECK: %[[READY:.*]] = call i32 @__dsm_load_ready(ptr @p, i64 8000, i64 0, i64 0, i64 0, i64 0, i64
; CHECK: %[[YES:.*]] = icmp ne i32 %[[READY]], 0
; CHECK: %[[ALL:.*]] = phi i1 [ false, %{{.*}} ], [ %[[YES]], %{{.*}} ]
; CHECK: %[[FLAG:.*]] = load i32, ptr @__dsm_single_process
; CHECK: %[[SINGLE:.*]] = icmp ne i32 %[[FLAG]], 0
; CHECK: %[[PLAIN:.*]] = or i1 %[[ALL]], %[[SINGLE]]
; CHECK: br i1 %[[PLAIN]]
; CHECK: loop.dsm:
; CHECK: load atomic i8
; CHECK: load double
; CHECK: loop:
; CHECK-NOT: load atomic
; CHECK: load double
; CHECK-NOT: load atomic
; CHECK: exit
; CHECK: llvm.loop.isvectorized
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
  %q = getelementptr inbounds double, ptr @p, i64 %kk
  %v = load double, ptr %q, align 8
  %t = fadd double %s, %v
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  %r = phi double [ 0.0, %entry ], [ %t, %loop ]
  ret double %r
}

; A walk through memory has one range check in front of the loop.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define double @f(ptr %p, i64 %n) {
; CHECK-LABEL: define double @f
; CHECK: ph:
; CHECK: load volatile i64
; CHECK: fence acquire
; CHECK: loop:
; CHECK-NOT: load atomic
; CHECK-NOT: load volatile
; CHECK: exit:
; CHECK: call void @__dsm_load_range(ptr %p, i64
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %ph, label %exit
ph:
  br label %loop
loop:
  %i = phi i64 [ 0, %ph ], [ %j, %loop ]
  %s = phi double [ 0.0, %ph ], [ %t, %loop ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  %v = load double, ptr %q, align 8
  %t = fadd double %s, %v
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  %r = phi double [ 0.0, %entry ], [ %t, %loop ]
  ret double %r
}

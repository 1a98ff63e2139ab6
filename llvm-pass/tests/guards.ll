; The guard of a loop is stated once more in front of it, where it is seen behind the checks. A loop that counts down by one to its bound,
; which its guard says it reaches: the comparison asks for equality, so that the number of iterations is known without the guard too, and the loop is
; unrolled.
; PIPELINE: dsm,function(loop-unroll<O3;runtime>)
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define double @down(ptr noalias %value, ptr noalias %bounds) {
; CHECK-LABEL: define double @down
; CHECK: call void @llvm.assume(i1 %some)
; CHECK: %xtraiter = and i64 %n, 7
entry:
  %n = load i64, ptr %bounds, align 8
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop.ph, label %exit
loop.ph:
  br label %loop
loop:
  %left = phi i64 [ %n, %loop.ph ], [ %left1, %loop ]
  %k = phi i64 [ 0, %loop.ph ], [ %k1, %loop ]
  %sum = phi double [ 0.0, %loop.ph ], [ %sum1, %loop ]
  %p = getelementptr inbounds double, ptr %value, i64 %k
  %v = load double, ptr %p, align 8
  %sum1 = fadd double %sum, %v
  %k1 = add nsw i64 %k, 1
  %left1 = add nsw i64 %left, -1
  %more = icmp samesign ugt i64 %left, 1
  br i1 %more, label %loop, label %exit
exit:
  %total = phi double [ 0.0, %entry ], [ %sum1, %loop ]
  ret double %total
}

; Without a guard it may start below its bound; in steps of two it may pass it.
define double @not(ptr noalias %value, ptr noalias %bounds) {
; CHECK-LABEL: define double @not
; CHECK: icmp sgt i64 %left, 1
; CHECK: icmp slt i64 %i1, %m
entry:
  %n = load i64, ptr %bounds, align 8
  br label %first
first:
  %left = phi i64 [ %n, %entry ], [ %left1, %first ]
  %k = phi i64 [ 0, %entry ], [ %k1, %first ]
  %sum = phi double [ 0.0, %entry ], [ %sum1, %first ]
  %p = getelementptr inbounds double, ptr %value, i64 %k
  %v = load double, ptr %p, align 8
  %sum1 = fadd double %sum, %v
  %k1 = add nsw i64 %k, 1
  %left1 = add nsw i64 %left, -1
  %more = icmp sgt i64 %left, 1
  br i1 %more, label %first, label %between
between:
  %mp = getelementptr inbounds i64, ptr %bounds, i64 1
  %m = load i64, ptr %mp, align 8
  %some = icmp sgt i64 %m, 0
  br i1 %some, label %second.ph, label %exit
second.ph:
  br label %second
second:
  %i = phi i64 [ 0, %second.ph ], [ %i1, %second ]
  %all = phi double [ %sum1, %second.ph ], [ %all1, %second ]
  %q = getelementptr inbounds double, ptr %value, i64 %i
  %w = load double, ptr %q, align 8
  %all1 = fadd double %all, %w
  %i1 = add nuw nsw i64 %i, 2
  %again = icmp slt i64 %i1, %m
  br i1 %again, label %second, label %exit, !llvm.loop !0
exit:
  %total = phi double [ %sum1, %between ], [ %all1, %second ]
  ret double %total
}

; The second loop is entered behind the first one, which is entered under a condition, and under one of its own that does not hold.
define double @behind(ptr noalias %value, i64 %n, i64 %m) {
; CHECK-LABEL: define double @behind
; CHECK: second.ph:
; CHECK-DAG: %[[NOT:.*]] = icmp sle i64 %m, 0
; CHECK-DAG: call void @llvm.assume(i1 %[[NOT]])
; CHECK-DAG: call void @llvm.assume(i1 %some)
; CHECK: br
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %first, label %exit
first:
  %k = phi i64 [ 0, %entry ], [ %k1, %first ]
  %sum = phi double [ 0.0, %entry ], [ %sum1, %first ]
  %p = getelementptr inbounds double, ptr %value, i64 %k
  %v = load double, ptr %p, align 8
  %sum1 = fadd double %sum, %v
  %k1 = add nuw nsw i64 %k, 1
  %more = icmp ne i64 %k1, %n
  br i1 %more, label %first, label %between
between:
  %many = icmp sgt i64 %m, 0
  br i1 %many, label %exit, label %second.ph
second.ph:
  br label %second
second:
  %i = phi i64 [ 0, %second.ph ], [ %i1, %second ]
  %all = phi double [ %sum1, %second.ph ], [ %all1, %second ]
  %j = sub i64 %n, %i
  %q = getelementptr inbounds double, ptr %value, i64 %j
  %w = load double, ptr %q, align 8
  %all1 = fadd double %all, %w
  %i1 = add nuw nsw i64 %i, 1
  %again = icmp ne i64 %i1, %n
  br i1 %again, label %second, label %exit
exit:
  %total = phi double [ 0.0, %entry ], [ %sum1, %between ], [ %all1, %second ]
  ret double %total
}

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}

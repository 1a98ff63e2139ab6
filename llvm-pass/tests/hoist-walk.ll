; A walk in steps of run-time length: tested as one range, and by the sign of the step; the runtime looks at the steps if the test fails.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p, i64 %height, i64 %stride) {
; CHECK-LABEL: define void @f
; CHECK: entry:
; CHECK: icmp slt i64 %{{.*}}, 0
; CHECK: load volatile i64
; CHECK: rows:
; CHECK-NOT: load atomic
; CHECK: store double
; CHECK: exit:
; CHECK: dsm.miss:
; CHECK: call void @__dsm_store_grid(ptr %p, i64 8, i64 %{{.*}}, i64 %{{.*}}, i64 0, i64 0)
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %rows ]
  %ro = mul i64 %r, %stride
  %row = getelementptr inbounds double, ptr %p, i64 %ro
  store double 1.0, ptr %row, align 8
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

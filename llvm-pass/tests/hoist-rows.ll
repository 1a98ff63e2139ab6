; Rows of a length known at run time in a pitch known at compile time: one call in front of the nest, nothing in it.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p, i64 %height, i64 %width) {
; CHECK-LABEL: define void @f
; CHECK: entry:
; CHECK: call void @__dsm_overwrite_grid(ptr %p, i64 %{{.*}}, i64 80000, i64 %{{.*}}, i64 0, i64 0)
; CHECK: rows:
; CHECK-NOT: __dsm_
; CHECK: ret void
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %row = getelementptr inbounds [10000 x double], ptr %p, i64 %r
  br label %columns
columns:
  %c = phi i64 [ 0, %rows ], [ %c1, %columns ]
  %q = getelementptr inbounds double, ptr %row, i64 %c
  store double 1.0, ptr %q, align 8
  %c1 = add nuw nsw i64 %c, 1
  %cm = icmp slt i64 %c1, %width
  br i1 %cm, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

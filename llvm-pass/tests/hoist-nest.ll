; Rows that turn out to lie next to each other are checked once before the nest; else each row before its loop.
; OPTIONS: disable=single
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p, i64 %height, i64 %width, i64 %stride) {
; CHECK-LABEL: define void @f
; CHECK: entry:
; The guard of the inner loop, and the distance of rows against their length.
; CHECK: icmp eq i1 %some, true
; CHECK: icmp ule i64 %{{.*}}, %{{.*}}
; CHECK: %[[FLAG:.*]] = freeze i1
; CHECK: br i1 %[[FLAG]], label %dsm.outer
; CHECK: rows:
; CHECK: inner.ph:
; CHECK: icmp eq i1 %[[FLAG]], false
; CHECK: columns:
; CHECK-NOT: load atomic
; CHECK: store double
entry:
  %some = icmp sgt i64 %width, 0
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %ro = mul i64 %r, %stride
  %row = getelementptr inbounds double, ptr %p, i64 %ro
  br i1 %some, label %inner.ph, label %next
inner.ph:
  br label %columns
columns:
  %c = phi i64 [ 0, %inner.ph ], [ %c1, %columns ]
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

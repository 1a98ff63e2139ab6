; Sums and products of 32-bit subscripts that do not overflow are computed in 64 bits; others stay.
; PIPELINE: dsm-widen
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define double @exact(ptr %p, i32 %j, i32 %stride, i32 %i) {
; CHECK-LABEL: define double @exact
; CHECK-DAG: [[J:%.*]] = sext i32 %j to i64
; CHECK-DAG: [[STRIDE:%.*]] = sext i32 %stride to i64
; CHECK-DAG: [[I:%.*]] = sext i32 %i to i64
; CHECK: %row = mul nsw i32 %j, %stride
; CHECK: [[ROW:%.*]] = mul nsw i64 [[J]], [[STRIDE]]
; CHECK: [[SUM:%.*]] = add nsw i64 [[I]], [[ROW]]
; CHECK: [[BACK:%.*]] = sub nsw i64 [[SUM]], 1
; CHECK: getelementptr inbounds double, ptr %p, i64 [[BACK]]
; CHECK: [[TWICE:%.*]] = shl nsw i64 [[SUM]], 1
; CHECK: [[ODD:%.*]] = or disjoint i64 [[TWICE]], 1
; CHECK: getelementptr inbounds double, ptr %p, i64 [[ODD]]
  %row = mul nsw i32 %j, %stride
  %sum = add nsw i32 %i, %row
  %back = sub nsw i32 %sum, 1
  %index = sext i32 %back to i64
  %q = getelementptr inbounds double, ptr %p, i64 %index
  %x = load double, ptr %q
  %twice = shl nsw i32 %sum, 1
  %odd = or disjoint i32 %twice, 1
  %other = zext nneg i32 %odd to i64
  %r = getelementptr inbounds double, ptr %p, i64 %other
  %y = load double, ptr %r
  %z = fadd double %x, %y
  ret double %z
}

define double @wraps(ptr %p, i32 %i, i32 %row) {
; CHECK-LABEL: define double @wraps
; CHECK-NOT: i64 %i
; CHECK: %sum = add i32 %i, %row
; CHECK-NEXT: %index = sext i32 %sum to i64
  %sum = add i32 %i, %row
  %index = sext i32 %sum to i64
  %q = getelementptr inbounds double, ptr %p, i64 %index
  %x = load double, ptr %q
  ret double %x
}

define i64 @no_subscript(i32 %i, i32 %row) {
; CHECK-LABEL: define i64 @no_subscript
; CHECK: %sum = add nsw i32 %i, %row
; CHECK-NEXT: %wide = sext i32 %sum to i64
; CHECK-NEXT: ret i64 %wide
  %sum = add nsw i32 %i, %row
  %wide = sext i32 %sum to i64
  ret i64 %wide
}

define double @unsigned(ptr %p, i32 %i, i32 %row) {
; CHECK-LABEL: define double @unsigned
; CHECK: %index = zext i32 %sum to i64
  %sum = add nsw i32 %i, %row
  %index = zext i32 %sum to i64
  %q = getelementptr inbounds double, ptr %p, i64 %index
  %x = load double, ptr %q
  ret double %x
}

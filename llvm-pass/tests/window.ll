; Rows whose bounds are loaded: their checks remember what is valid around them, from the nest's entry on. A row of a global is not
; checked at all if the whole global is valid.
; OPTIONS: line=10;disable=single
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@g = global [1000 x double] zeroinitializer, align 16

define double @heap(ptr noalias %value, ptr noalias %bounds, i64 %rows) {
; CHECK-LABEL: define double @heap
; CHECK: %[[W:dsm.window.*]] = alloca [2 x i64], align 16
; CHECK: store [2 x i64] zeroinitializer, ptr %[[W]]
; CHECK: inner.ph:
; CHECK: %[[LO:.*]] = load i64, ptr %[[W]], align 16
; CHECK: %[[END:.*]] = getelementptr i8, ptr %[[W]], i64 8
; CHECK: %[[HI:.*]] = load i64, ptr %[[END]], align 8
; CHECK: icmp slt i64 %{{.*}}, 0
; CHECK: columns:
; CHECK-NOT: load atomic
; CHECK: fadd
; CHECK: call void @__dsm_load_window(ptr %{{.*}}, i64 %{{.*}}, ptr %[[W]])
entry:
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %outer = phi double [ 0.0, %entry ], [ %total, %next ]
  %lop = getelementptr i64, ptr %bounds, i64 %r
  %lo = load i64, ptr %lop, align 8
  %r1 = add nuw nsw i64 %r, 1
  %hip = getelementptr i64, ptr %bounds, i64 %r1
  %hi = load i64, ptr %hip, align 8
  %some = icmp slt i64 %lo, %hi
  br i1 %some, label %inner.ph, label %next
inner.ph:
  br label %columns
columns:
  %k = phi i64 [ %lo, %inner.ph ], [ %k1, %columns ]
  %sum = phi double [ %outer, %inner.ph ], [ %sum1, %columns ]
  %p = getelementptr inbounds double, ptr %value, i64 %k
  %v = load double, ptr %p, align 8
  %sum1 = fadd double %sum, %v
  %k1 = add nsw i64 %k, 1
  %more = icmp slt i64 %k1, %hi
  br i1 %more, label %columns, label %next
next:
  %total = phi double [ %outer, %row ], [ %sum1, %columns ]
  %rm = icmp slt i64 %r1, %rows
  br i1 %rm, label %row, label %exit
exit:
  ret double %total
}

define double @global(ptr noalias %bounds, i64 %rows) {
; CHECK-LABEL: define double @global
; CHECK: %[[R:.*]] = call i32 @__dsm_load_ready(ptr @g, i64 8000,
; CHECK: %[[B:.*]] = icmp ne i32 %[[R]], 0
; CHECK: %[[F:.*]] = freeze i1 %[[B]]
; CHECK: inner.ph:
; CHECK: icmp eq i1 %[[F]], false
; CHECK: call void @__dsm_load_window(
entry:
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %outer = phi double [ 0.0, %entry ], [ %total, %next ]
  %lop = getelementptr i64, ptr %bounds, i64 %r
  %lo = load i64, ptr %lop, align 8
  %r1 = add nuw nsw i64 %r, 1
  %hip = getelementptr i64, ptr %bounds, i64 %r1
  %hi = load i64, ptr %hip, align 8
  %some = icmp slt i64 %lo, %hi
  br i1 %some, label %inner.ph, label %next
inner.ph:
  br label %columns
columns:
  %k = phi i64 [ %lo, %inner.ph ], [ %k1, %columns ]
  %sum = phi double [ %outer, %inner.ph ], [ %sum1, %columns ]
  %p = getelementptr inbounds double, ptr @g, i64 %k
  %v = load double, ptr %p, align 8
  %sum1 = fadd double %sum, %v
  %k1 = add nsw i64 %k, 1
  %more = icmp slt i64 %k1, %hi
  br i1 %more, label %columns, label %next
next:
  %total = phi double [ %outer, %row ], [ %sum1, %columns ]
  %rm = icmp slt i64 %r1, %rows
  br i1 %rm, label %row, label %exit
exit:
  ret double %total
}

; Steps of run-time length: the window has space for the last walk.
define double @column(ptr noalias %value, ptr noalias %bounds, i64 %rows, i64 %width) {
; CHECK-LABEL: define double @column
; CHECK: %[[W:dsm.window.*]] = alloca [7 x i64], align 16
; CHECK: store [7 x i64] zeroinitializer, ptr %[[W]]
; CHECK: call void @__dsm_load_walk(ptr %{{.*}}, i64 8, i64 %{{.*}}, i64 %{{.*}}, ptr %[[W]])
entry:
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %outer = phi double [ 0.0, %entry ], [ %total, %next ]
  %lop = getelementptr i64, ptr %bounds, i64 %r
  %lo = load i64, ptr %lop, align 8
  %r1 = add nuw nsw i64 %r, 1
  %hip = getelementptr i64, ptr %bounds, i64 %r1
  %hi = load i64, ptr %hip, align 8
  %some = icmp slt i64 %lo, %hi
  br i1 %some, label %inner.ph, label %next
inner.ph:
  br label %columns
columns:
  %k = phi i64 [ %lo, %inner.ph ], [ %k1, %columns ]
  %sum = phi double [ %outer, %inner.ph ], [ %sum1, %columns ]
  %at = mul nsw i64 %k, %width
  %p = getelementptr inbounds double, ptr %value, i64 %at
  %v = load double, ptr %p, align 8
  %sum1 = fadd double %sum, %v
  %k1 = add nsw i64 %k, 1
  %more = icmp slt i64 %k1, %hi
  br i1 %more, label %columns, label %next
next:
  %total = phi double [ %outer, %row ], [ %sum1, %columns ]
  %rm = icmp slt i64 %r1, %rows
  br i1 %rm, label %row, label %exit
exit:
  ret double %total
}

; Few lines are looked at without a call, and become the window. Where the walk goes is not known, so its range begins at the first step or at the last.
define double @refilled(ptr noalias %value, ptr noalias %bounds, i64 %rows, i64 %width) {
; CHECK-LABEL: define double @refilled
; CHECK: %[[W:dsm.window.*]] = alloca [7 x i64], align 16
; CHECK: inner.ph:
; CHECK: %[[FAR:.*]] = sub i64 %{{.*}}, 8
; CHECK: %[[BACK:.*]] = icmp slt i64 %[[FAR]], 0
; CHECK: select i1 %[[BACK]]
; CHECK: dsm.miss:
; CHECK: load volatile i64
; CHECK: br i1 %{{.*}}, label %[[CALL:dsm.call]], label %[[REFILL:dsm.refill]]
; CHECK: [[CALL]]:
; CHECK: call void @__dsm_load_walk(
; CHECK: [[REFILL]]:
; CHECK: store i64 %{{.*}}, ptr %[[W]], align 16
; CHECK-NOT: call
; CHECK: br label
entry:
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %outer = phi double [ 0.0, %entry ], [ %total, %next ]
  %lop = getelementptr i64, ptr %bounds, i64 %r
  %lo = load i64, ptr %lop, align 8
  %r1 = add nuw nsw i64 %r, 1
  %hip = getelementptr i64, ptr %bounds, i64 %r1
  %hi = load i64, ptr %hip, align 8
  %some = icmp slt i64 %lo, %hi
  br i1 %some, label %inner.ph, label %next
inner.ph:
  br label %columns
columns:
  %k = phi i64 [ %lo, %inner.ph ], [ %k1, %columns ]
  %sum = phi double [ %outer, %inner.ph ], [ %sum1, %columns ]
  %at = mul nsw i64 %k, %width
  %p = getelementptr inbounds double, ptr %value, i64 %at
  %v = load double, ptr %p, align 8
  %sum1 = fadd double %sum, %v
  %k1 = add nsw i64 %k, 1
  %more = icmp slt i64 %k1, %hi
  br i1 %more, label %columns, label %next
next:
  %total = phi double [ %outer, %row ], [ %sum1, %columns ]
  %rm = icmp slt i64 %r1, %rows
  br i1 %rm, label %row, label %exit
exit:
  ret double %total
}

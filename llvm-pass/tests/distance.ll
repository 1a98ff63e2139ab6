; Rows whose ends the program computes from their begins: how long they are is known in front of the nest, and so is all that it touches. Where the sum may wrap, or what is added changes
; from row to row, each row is checked before its loop.
; OPTIONS: disable=single,version,guards,window
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; for (i = r * width; i < r * width + width; i++)
define void @less(ptr %p, i64 %height, i64 %width) {
; CHECK-LABEL: define void @less
; CHECK: %[[LENGTH:.*]] = call i64 @llvm.smax.i64(i64 %width, i64 1)
; CHECK: %[[BYTES:.*]] = shl i64 %[[LENGTH]], 3
; CHECK: %[[PITCH:.*]] = shl i64 %width, 3
; CHECK: %[[EXTENT:.*]] = add i64 %[[BYTES]], -8
; CHECK: %[[ROW:.*]] = add i64 %[[EXTENT]], 8
; CHECK-NOT: __dsm_{{store|overwrite}}_range
; CHECK: call void @__dsm_store_grid(ptr %p, i64 %[[ROW]], i64 %[[PITCH]], i64 %{{.*}}, i64 0, i64 0)
; CHECK-NOT: __dsm_{{store|overwrite}}_range
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %first = mul nsw i64 %r, %width
  %end = add nsw i64 %first, %width
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %i1 = add nsw i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; for (i = r * width; i <= r * width + last; i++)
define void @not_greater(ptr %p, i64 %height, i64 %width, i64 %last) {
; CHECK-LABEL: define void @not_greater
; CHECK: %[[LAST:.*]] = call i64 @llvm.smax.i64(i64 %last, i64 0)
; CHECK: %[[EXTENT:.*]] = shl i64 %[[LAST]], 3
; CHECK: %[[PITCH:.*]] = shl i64 %width, 3
; CHECK: %[[ROW:.*]] = add i64 %[[EXTENT]], 8
; CHECK-NOT: __dsm_{{store|overwrite}}_range
; CHECK: call void @__dsm_store_grid(ptr %p, i64 %[[ROW]], i64 %[[PITCH]], i64 %{{.*}}, i64 0, i64 0)
; CHECK-NOT: __dsm_{{store|overwrite}}_range
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %first = mul nsw i64 %r, %width
  %end = add nsw i64 %last, %first
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %i1 = add nsw i64 %i, 1
  %less = icmp sgt i64 %i1, %end
  br i1 %less, label %next, label %columns
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; The numbers are of 32 bits, the counter of 64.
define void @wide(ptr %p, i64 %height, i32 %width) {
; CHECK-LABEL: define void @wide
; CHECK-NOT: __dsm_{{store|overwrite}}_range
; CHECK: call void @__dsm_store_grid(ptr %{{.*}}, i64 %{{.*}}, i64 %{{.*}}, i64 %{{.*}}, i64 0, i64 0)
; CHECK-NOT: __dsm_{{store|overwrite}}_range
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %r32 = phi i32 [ 0, %entry ], [ %r321, %next ]
  %first32 = mul nsw i32 %r32, %width
  %end32 = add nsw i32 %first32, %width
  %first = sext i32 %first32 to i64
  %end = sext i32 %end32 to i64
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %i1 = add nsw i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %r321 = add nuw nsw i32 %r32, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; for (i = r * width - before; i < r * width; i++)
define void @before(ptr %p, i64 %height, i64 %width, i64 %before) {
; CHECK-LABEL: define void @before
; CHECK-NOT: __dsm_{{store|overwrite}}_range
; CHECK: call void @__dsm_store_grid(ptr %{{.*}}, i64 %{{.*}}, i64 %{{.*}}, i64 %{{.*}}, i64 0, i64 0)
; CHECK-NOT: __dsm_{{store|overwrite}}_range
entry:
  br label %rows
rows:
  %r = phi i64 [ 1, %entry ], [ %r1, %next ]
  %end = mul nsw i64 %r, %width
  %first = sub nsw i64 %end, %before
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %i1 = add nsw i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; The sum may wrap: then the loop runs once.
define void @wrapping(ptr %p, i64 %height, i64 %width) {
; CHECK-LABEL: define void @wrapping
; CHECK-NOT: call void @__dsm_{{store|overwrite}}_grid
; CHECK: call void @__dsm_overwrite_range(
; CHECK-NOT: call void @__dsm_{{store|overwrite}}_grid
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %first = mul nsw i64 %r, %width
  %end = add i64 %first, %width
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %i1 = add nsw i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; Without a sign it may wrap as well.
define void @unsigned(ptr %p, i64 %height, i64 %width) {
; CHECK-LABEL: define void @unsigned
; CHECK-NOT: call void @__dsm_{{store|overwrite}}_grid
; CHECK: call void @__dsm_overwrite_range(
; CHECK-NOT: call void @__dsm_{{store|overwrite}}_grid
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %first = mul nsw i64 %r, %width
  %end = add nsw i64 %first, %width
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %i1 = add nsw i64 %i, 1
  %more = icmp ult i64 %i1, %end
  br i1 %more, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; What is added is another number in each row.
define void @triangle(ptr %p, i64 %height, i64 %width) {
; CHECK-LABEL: define void @triangle
; CHECK-NOT: call void @__dsm_{{store|overwrite}}_grid
; CHECK: call void @__dsm_overwrite_range(
; CHECK-NOT: call void @__dsm_{{store|overwrite}}_grid
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %first = mul nsw i64 %r, %width
  %end = add nsw i64 %first, %r
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %i1 = add nsw i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; for (i = first; i < first + width; i++) with the comparison in front of the addition, and the sides the other way round
define void @counter(ptr %p, i64 %height, i64 %width) {
; CHECK-LABEL: define void @counter
; CHECK: %[[LAST:.*]] = call i64 @llvm.smax.i64(i64 %width, i64 0)
; CHECK: %[[EXTENT:.*]] = shl i64 %[[LAST]], 3
; CHECK: %[[ROW:.*]] = add i64 %[[EXTENT]], 8
; CHECK: call void @__dsm_store_grid(ptr %p, i64 %[[ROW]],
; CHECK-NOT: __dsm_{{store|overwrite}}_range
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %first = mul nsw i64 %r, %width
  %end = add nsw i64 %first, %width
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %more = icmp sgt i64 %end, %i
  %i1 = add nsw i64 %i, 1
  br i1 %more, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; The counter may pass the greatest number.
define void @endless(ptr %p, i64 %height, i64 %width) {
; CHECK-LABEL: define void @endless
; CHECK-NOT: call void @__dsm_{{store|overwrite}}_grid
; CHECK: ret void
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %first = mul nsw i64 %r, %width
  %end = add nsw i64 %first, %width
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %i1 = add i64 %i, 1
  %more = icmp sle i64 %i1, %end
  br i1 %more, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; Numbers of 32 bits whose sum may wrap.
define void @narrow(ptr %p, i64 %height, i32 %width) {
; CHECK-LABEL: define void @narrow
; CHECK-NOT: call void @__dsm_{{store|overwrite}}_grid
; CHECK: ret void
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  %r32 = phi i32 [ 0, %entry ], [ %r321, %next ]
  %first32 = mul nsw i32 %r32, %width
  %end32 = add i32 %first32, %width
  %first = sext i32 %first32 to i64
  %end = sext i32 %end32 to i64
  br label %columns
columns:
  %i = phi i64 [ %first, %rows ], [ %i1, %columns ]
  %q = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %i1 = add nsw i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %r321 = add nuw nsw i32 %r32, 1
  %rm = icmp slt i64 %r1, %height
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; A load beside atomic operations, on whose check nothing else relies: the slow path returns the value, whatever the type. A load that another access relies on is made valid.
; OPTIONS: disable=single
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @visit(ptr %places, ptr %index, i64 %n) {
; CHECK-LABEL: define void @visit
; CHECK: [[HERE:%.*]] = load double, ptr [[PLACE:%.*]], align 8
; CHECK-NEXT: br label %[[TAIL:.*]]
; CHECK: [[TAIL]]:
; CHECK-NEXT: [[VALUE:%.*]] = phi double [ [[HERE]], {{.*}} ], [ [[FETCHED:%.*]], {{.*}} ]
; CHECK: fcmp ogt double [[VALUE]], 1.0
; CHECK: [[NUMBER:%.*]] = call i64 @__dsm_load_value_miss(ptr [[PLACE]], i64 8)
; CHECK: [[FETCHED]] = bitcast i64 [[NUMBER]] to double
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %at = atomicrmw add ptr %index, i64 7 seq_cst
  %q = getelementptr inbounds double, ptr %places, i64 %at
  %x = load double, ptr %q, align 8
  %take = fcmp ogt double %x, 1.0
  br i1 %take, label %then, label %next
then:
  br label %next
next:
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

define i64 @relied(ptr %places, ptr %index, i64 %n) {
; CHECK-LABEL: define i64 @relied
; CHECK-NOT: load_value_miss
; CHECK: call void @__dsm_load_miss
; CHECK-NOT: load_value_miss
; CHECK: }
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %sum = phi i64 [ 0, %entry ], [ %more.sum, %next ]
  %at = atomicrmw add ptr %index, i64 7 seq_cst
  %q = getelementptr inbounds i64, ptr %places, i64 %at
  %x = load volatile i64, ptr %q, align 8
  %take = icmp sgt i64 %x, 1
  br i1 %take, label %then, label %next
then:
  %y = load volatile i64, ptr %q, align 8
  br label %next
next:
  %z = phi i64 [ %x, %loop ], [ %y, %then ]
  %more.sum = add i64 %sum, %z
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret i64 %sum
}

; The bound of a loop is loaded again in each iteration, as what the loop stores may change it: no check leaves the loop, but what is expected to be read is fetched
; in front of it, if it is long enough. Loads stay checked.
; OPTIONS: line=10;disable=single,version
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @up(ptr %keys, ptr %counts, ptr %bound, i32 %first) {
; CHECK-LABEL: define void @up
; CHECK: %[[BOUND:.*]] = load i32, ptr %bound
; CHECK: %[[END:.*]] = sext i32 %[[BOUND]] to i64
; CHECK: %[[N:.*]] = freeze i64
; CHECK: %[[LONGER:.*]] = sub i64 %[[N]], 2048
; CHECK: icmp ult i64 %[[LONGER]], 1099511625728
; CHECK: dsm.hint
; CHECK: loop:
; CHECK: load atomic i8
; CHECK: load i32
; CHECK: call void @__dsm_load_hint(ptr %{{.*}}, i64 %[[N]])
entry:
  %end = load i32, ptr %bound, align 4
  %some = icmp slt i32 %first, %end
  br i1 %some, label %ph, label %exit
ph:
  %from = sext i32 %first to i64
  br label %loop
loop:
  %k = phi i64 [ %from, %ph ], [ %k1, %loop ]
  %p = getelementptr inbounds i32, ptr %keys, i64 %k
  %key = load i32, ptr %p, align 4
  %wide = sext i32 %key to i64
  %q = getelementptr inbounds i32, ptr %counts, i64 %wide
  %old = load i32, ptr %q, align 4
  %new = add nsw i32 %old, 1
  store i32 %new, ptr %q, align 4
  %k1 = add nsw i64 %k, 1
  %again = load i32, ptr %bound, align 4
  %till = sext i32 %again to i64
  %more = icmp slt i64 %k1, %till
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; Downwards, and stores.
define void @down(ptr %values, ptr %bound, i64 %last) {
; CHECK-LABEL: define void @down
; CHECK: call void @__dsm_store_hint(
entry:
  %end = load i64, ptr %bound, align 8
  %some = icmp sgt i64 %last, %end
  br i1 %some, label %ph, label %exit
ph:
  br label %loop
loop:
  %k = phi i64 [ %last, %ph ], [ %k1, %loop ]
  %p = getelementptr inbounds i64, ptr %values, i64 %k
  store i64 %k, ptr %p, align 8
  %k1 = add nsw i64 %k, -1
  %again = load i64, ptr %bound, align 8
  %more = icmp sgt i64 %k1, %again
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; What is not executed in every iteration is not expected, nor what lies further apart than a line, nor anything if the bound was not loaded in front of the loop.
define void @not(ptr %values, ptr %bound, ptr %rows, i64 %first, i64 %guess, i1 %odd) {
; CHECK-LABEL: define void @not
; CHECK-NOT: _hint
; CHECK: ret void
entry:
  %end = load i64, ptr %bound, align 8
  %some = icmp slt i64 %first, %end
  br i1 %some, label %ph, label %next
ph:
  br label %loop
loop:
  %k = phi i64 [ %first, %ph ], [ %k1, %latch ]
  br i1 %odd, label %then, label %latch
then:
  %p = getelementptr inbounds i64, ptr %values, i64 %k
  store i64 %k, ptr %p, align 8
  br label %latch
latch:
  %r = getelementptr inbounds [1000 x i64], ptr %rows, i64 %k
  store i64 %k, ptr %r, align 8
  %k1 = add nsw i64 %k, 1
  %again = load i64, ptr %bound, align 8
  %more = icmp slt i64 %k1, %again
  br i1 %more, label %loop, label %next
next:
  %any = icmp slt i64 %first, %guess
  br i1 %any, label %second.ph, label %exit
second.ph:
  br label %second
second:
  %j = phi i64 [ %first, %second.ph ], [ %j1, %second ]
  %s = getelementptr inbounds i64, ptr %values, i64 %j
  store i64 %j, ptr %s, align 8
  %j1 = add nsw i64 %j, 1
  %where = getelementptr inbounds i64, ptr %bound, i64 1
  %other = load i64, ptr %where, align 8
  %go = icmp slt i64 %j1, %other
  br i1 %go, label %second, label %exit
exit:
  ret void
}

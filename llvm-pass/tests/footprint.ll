; A loop that leaves early, in a triangular nest: one look at both ends of all that the nest can touch, without a call, and a version without checks.
; OPTIONS: disable=single
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @pairs(ptr %p, i64 %n, i8 %wanted) {
; CHECK-LABEL: define i32 @pairs
; CHECK: [[FIRST:%.*]] = lshr i64 {{.*}}, 12
; CHECK: [[LAST:%.*]] = lshr i64 {{.*}}, 12
; CHECK: [[DISTANCE:%.*]] = sub i64 [[LAST]], [[FIRST]]
; CHECK: icmp ult i64 [[DISTANCE]], 2
; CHECK: icmp ult i64 [[LAST]], 34359738368
; CHECK: icmp ult i64 {{.*}}, 2147483648
; CHECK: br i1
; CHECK: load atomic i8
; CHECK: load atomic i8
; CHECK: [[VALID:%.*]] = phi i1 [ false, {{.*}} ], [ {{.*}} ]
; CHECK: br i1 [[VALID]], label %[[PLAIN:.*]], label %[[COPY:.*]]
; CHECK: inner.dsm:
; CHECK: load atomic i8
; CHECK: [[PLAIN]]:
; CHECK-NOT: load atomic i8
; CHECK-NOT: call
; CHECK: ret i32
; CHECK: call void @__dsm_load_miss
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  %i.next = add nuw nsw i64 %i, 1
  %some = icmp ult i64 %i.next, %n
  br i1 %some, label %before, label %latch
before:
  br label %inner
inner:
  %j = phi i64 [ %i.next, %before ], [ %j.next, %next ]
  %q = getelementptr inbounds i8, ptr %p, i64 %j
  %x = load i8, ptr %q, align 1
  %found = icmp eq i8 %x, %wanted
  br i1 %found, label %yes, label %next
next:
  %j.next = add nuw nsw i64 %j, 1
  %more = icmp ne i64 %j.next, %n
  br i1 %more, label %inner, label %behind
behind:
  br label %latch
latch:
  %again = icmp ne i64 %i.next, %n
  br i1 %again, label %outer, label %exit
yes:
  ret i32 1
exit:
  ret i32 0
}

; Where the inner loop is entered though its bound is behind it, it has no such end.
define i32 @unguarded(ptr %p, i64 %n, i8 %wanted) {
; CHECK-LABEL: define i32 @unguarded
; CHECK-NOT: .dsm:
; CHECK: load atomic i8
; CHECK: ret i32 1
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  %i.next = add nuw nsw i64 %i, 1
  br label %inner
inner:
  %j = phi i64 [ %i.next, %outer ], [ %j.next, %next ]
  %q = getelementptr i8, ptr %p, i64 %j
  %x = load i8, ptr %q, align 1
  %found = icmp eq i8 %x, %wanted
  br i1 %found, label %yes, label %next
next:
  %j.next = add i64 %j, 1
  %more = icmp ne i64 %j.next, %n
  br i1 %more, label %inner, label %latch
latch:
  %again = icmp ne i64 %i.next, %n
  br i1 %again, label %outer, label %exit
yes:
  ret i32 1
exit:
  ret i32 0
}

; Steps leave bytes out; all of a line has one state.
define i32 @strided(ptr %p, i64 %n, i8 %wanted) {
; CHECK-LABEL: define i32 @strided
; CHECK: [[STRIDED:%.*]] = phi i1
; CHECK: br i1 [[STRIDED]]
; CHECK: ret i32
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %at = mul i64 %i, 100
  %q = getelementptr i8, ptr %p, i64 %at
  %x = load i8, ptr %q, align 1
  %found = icmp eq i8 %x, %wanted
  br i1 %found, label %yes, label %next
next:
  %i.next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %i.next, %n
  br i1 %again, label %loop, label %exit
yes:
  ret i32 1
exit:
  ret i32 0
}

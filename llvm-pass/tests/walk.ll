; A pointer that a loop advances as an integer is an integer in the loop, and its walk has a check in front.
; OPTIONS: disable=single
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define double @rows(ptr %a, i64 %n) {
; CHECK-LABEL: define double @rows
; CHECK: load volatile i64
; CHECK: {{^}}loop:
; CHECK: %p.walk = phi i64 [
; CHECK-NOT: load {{atomic|volatile}}
; CHECK: ret double
; CHECK: call void @__dsm_load_range(ptr %a
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %p = phi ptr [ %a, %entry ], [ %p.next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %sum.next, %loop ]
  %x = load double, ptr %p
  %sum.next = fadd double %sum, %x
  %taken = ptrtoint ptr %p to i64
  %ahead = add i64 %taken, 8
  %p.next = inttoptr i64 %ahead to ptr
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret double %sum.next
}

; A pointer in between is walked with by elements: an integer tells where it ends.
define void @back(ptr %a, i64 %n, i64 %m, i64 %back) {
; CHECK-LABEL: define void @back
; CHECK: outer:
; CHECK-NEXT: %j = phi i64
; CHECK-NEXT: %row.walk = phi i64 [ %{{.*}}, %entry ], [ %moved, %latch ]
; CHECK: inner:
; CHECK: %q.walk = phi i64 [ %row.walk, %{{outer.*}} ], [ [[ON:%.*]], %inner ]
; CHECK: %q = phi ptr [ %row, %{{outer.*}} ], [ %q.next, %inner ]
; CHECK: store double 1.000000e+00, ptr %q
; CHECK: [[ON]] = add i64 %q.walk, 8
; CHECK: %moved = sub i64 {{.*}}, %back
entry:
  br label %outer
outer:
  %j = phi i64 [ 0, %entry ], [ %j.next, %latch ]
  %row = phi ptr [ %a, %entry ], [ %row.next, %latch ]
  br label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  %q = phi ptr [ %row, %outer ], [ %q.next, %inner ]
  store double 1.0, ptr %q
  %q.next = getelementptr inbounds i8, ptr %q, i64 8
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %latch, label %inner
latch:
  %last = phi ptr [ %q.next, %inner ]
  %taken = ptrtoint ptr %last to i64
  %moved = sub i64 %taken, %back
  %row.next = inttoptr i64 %moved to ptr
  %j.next = add nuw nsw i64 %j, 1
  %all = icmp eq i64 %j.next, %m
  br i1 %all, label %exit, label %outer
exit:
  ret void
}

; A pointer that is made of an integer once, and walked with as a pointer, stays one.
define double @made(i64 %begin, i64 %n) {
; CHECK-LABEL: define double @made
; CHECK: %p = phi ptr
entry:
  %first = inttoptr i64 %begin to ptr
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %p = phi ptr [ %first, %entry ], [ %p.next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %sum.next, %loop ]
  %x = load double, ptr %p
  %sum.next = fadd double %sum, %x
  %p.next = getelementptr inbounds i8, ptr %p, i64 8
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret double %sum.next
}

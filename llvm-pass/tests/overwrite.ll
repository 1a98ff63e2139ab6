; Loops that store to every byte of a range, and read none of it before, ask for memory without its contents; others do not.
; PIPELINE: dsm
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@a = global [100000 x double] zeroinitializer, align 64
@b = global [100000 x double] zeroinitializer, align 64
declare double @sqrt(double) nounwind willreturn memory(none)
declare void @use(double) nounwind willreturn nosync memory(inaccessiblemem: readwrite)
declare double @known(double) nosync memory(none)

define void @all(i64 %n) {
; CHECK-LABEL: define void @all(
; CHECK: call void @__dsm_overwrite_range(ptr @a,
; CHECK: {{^[}]$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %q = getelementptr inbounds double, ptr @b, i64 %i
  %v = load double, ptr %q, align 8
  %w = call double @sqrt(double %v)
  %p = getelementptr inbounds double, ptr @a, i64 %i
  store double %w, ptr %p, align 8
  %r = load double, ptr %p, align 8
  call void @use(double %r)
  %i1 = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; Two fields side by side, downwards.
define void @fields(i64 %n) {
; CHECK-LABEL: define void @fields(
; CHECK: call void @__dsm_overwrite_range(
; CHECK: {{^[}]$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ %n, %entry ], [ %i1, %loop ]
  %p = getelementptr inbounds [2 x double], ptr @a, i64 %i
  %q = getelementptr inbounds i8, ptr %p, i64 8
  store double 1.0, ptr %p, align 8
  store double 2.0, ptr %q, align 8
  %i1 = add nsw i64 %i, -1
  %c = icmp sgt i64 %i1, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; A field of each element is left out.
define void @gap(i64 %n) {
; CHECK-LABEL: define void @gap(
; CHECK: call void @__dsm_store_range(
; CHECK: {{^[}]$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %p = getelementptr inbounds [3 x double], ptr @a, i64 %i
  %q = getelementptr inbounds i8, ptr %p, i64 16
  store double 1.0, ptr %p, align 8
  store double 2.0, ptr %q, align 8
  %i1 = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; What is stored depends on what was there, an iteration later.
define void @shifted(i64 %n) {
; CHECK-LABEL: define void @shifted(
; CHECK-NOT: @__dsm_overwrite_
; CHECK: call void @__dsm_store_range(
; CHECK: {{^[}]$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %i1 = add nuw nsw i64 %i, 1
  %q = getelementptr inbounds double, ptr @a, i64 %i1
  %v = load double, ptr %q, align 8
  %p = getelementptr inbounds double, ptr @a, i64 %i
  store double %v, ptr %p, align 8
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; The pointers may meet: what they cover is compared where the range is not valid.
define void @alias(ptr %p, ptr %q, i64 %n) {
; CHECK-LABEL: define void @alias(
; CHECK: %[[MEET:.*]] = and i1
; CHECK: dsm.miss:
; CHECK: %[[YES:.*]] = select i1 %[[MEET]], i64 0, i64 %[[LENGTH:.*]]
; CHECK: %[[NO:.*]] = select i1 %[[MEET]], i64 %[[LENGTH]], i64 0
; CHECK: call void @__dsm_overwrite_range(ptr %p, i64 %[[YES]])
; CHECK: call void @__dsm_store_range(ptr %p, i64 %[[NO]])
; CHECK: {{^[}]$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %qi = getelementptr inbounds double, ptr %q, i64 %i
  %v = load double, ptr %qi, align 8
  %pi = getelementptr inbounds double, ptr %p, i64 %i
  store double %v, ptr %pi, align 8
  %i1 = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; What one of them reads is not known before the loop.
define void @scattered(ptr %p, ptr %q, ptr noalias %index, i64 %n) {
; CHECK-LABEL: define void @scattered(
; CHECK-NOT: @__dsm_overwrite_
; CHECK: call void @__dsm_store_range(
; CHECK: {{^[}]$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %xi = getelementptr inbounds i64, ptr %index, i64 %i
  %x = load i64, ptr %xi, align 8
  %qi = getelementptr inbounds double, ptr %q, i64 %x
  %v = load double, ptr %qi, align 8
  %pi = getelementptr inbounds double, ptr %p, i64 %i
  store double %v, ptr %pi, align 8
  %i1 = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; They cannot.
define void @restrict(ptr noalias %p, ptr noalias %q, i64 %n) {
; CHECK-LABEL: define void @restrict(
; CHECK: call void @__dsm_overwrite_range(ptr %p,
; CHECK: {{^[}]$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %qi = getelementptr inbounds double, ptr %q, i64 %i
  %v = load double, ptr %qi, align 8
  %pi = getelementptr inbounds double, ptr %p, i64 %i
  store double %v, ptr %pi, align 8
  %i1 = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; The function may not come back.
define void @leaves(i64 %n) {
; CHECK-LABEL: define void @leaves(
; CHECK-NOT: @__dsm_overwrite_
; CHECK: call void @__dsm_store_range(
; CHECK: {{^[}]$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %p = getelementptr inbounds double, ptr @a, i64 %i
  %v = call double @known(double 1.0)
  store double %v, ptr %p, align 8
  %i1 = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; Rows that lie next to each other, and rows whose ends are left out: the runtime looks at the second's.
define void @planes(i64 %n) {
; CHECK-LABEL: define void @planes(
; CHECK: call void @__dsm_overwrite_range(ptr @a,
; CHECK: {{^[}]$}}
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  br label %columns
columns:
  %c = phi i64 [ 0, %rows ], [ %c1, %columns ]
  %p = getelementptr inbounds [64 x double], ptr @a, i64 %r, i64 %c
  store double 1.0, ptr %p, align 8
  %c1 = add nuw nsw i64 %c, 1
  %cm = icmp ult i64 %c1, 64
  br i1 %cm, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %n
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

define void @interior(i64 %n) {
; CHECK-LABEL: define void @interior(
; CHECK-NOT: @__dsm_overwrite_range
; CHECK: call void @__dsm_store_range(
; CHECK: {{^[}]$}}
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  br label %columns
columns:
  %c = phi i64 [ 1, %rows ], [ %c1, %columns ]
  %p = getelementptr inbounds [64 x double], ptr @a, i64 %r, i64 %c
  store double 1.0, ptr %p, align 8
  %c1 = add nuw nsw i64 %c, 1
  %cm = icmp ult i64 %c1, 63
  br i1 %cm, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %n
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

define void @pitch(i64 %width, i64 %n) {
; CHECK-LABEL: define void @pitch(
; CHECK: call void @__dsm_overwrite_grid(ptr @a,
; CHECK: {{^[}]$}}
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %r1, %next ]
  br label %columns
columns:
  %c = phi i64 [ 0, %rows ], [ %c1, %columns ]
  %p = getelementptr inbounds [1000 x double], ptr @a, i64 %r, i64 %c
  store double 1.0, ptr %p, align 8
  %c1 = add nuw nsw i64 %c, 1
  %cm = icmp slt i64 %c1, %width
  br i1 %cm, label %columns, label %next
next:
  %r1 = add nuw nsw i64 %r, 1
  %rm = icmp slt i64 %r1, %n
  br i1 %rm, label %rows, label %exit
exit:
  ret void
}

; Not every iteration stores, and the loop may end early: these have no check in front of the loop at all.
define void @some(ptr %key, i64 %n) {
; CHECK-LABEL: define void @some(
; CHECK-NOT: @__dsm_overwrite_
; CHECK: {{^[}]$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %q = getelementptr inbounds i64, ptr %key, i64 %i
  %v = load i64, ptr %q, align 8
  %e = icmp eq i64 %v, 7
  br i1 %e, label %exit, label %on
on:
  %o = icmp eq i64 %v, 8
  br i1 %o, label %put, label %next
put:
  %p = getelementptr inbounds double, ptr @a, i64 %i
  store double 1.0, ptr %p, align 8
  br label %next
next:
  %i1 = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

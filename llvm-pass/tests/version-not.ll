; Must not have two versions: loops that may synchronise, and loops with an address of which nothing is known.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@p = external global [1000 x double], align 16
@open = external global [0 x double], align 16

declare void @unknown()

; CHECK-NOT: _ready
; CHECK-NOT: .dsm:
define void @syncs(ptr %index, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %at = getelementptr inbounds i64, ptr %index, i64 %i
  %k = load i64, ptr %at, align 8
  %q = getelementptr inbounds double, ptr @p, i64 %k
  store double 0.0, ptr %q, align 8
  call void @unknown()
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

define void @list(ptr %first) {
entry:
  br label %loop
loop:
  %at = phi ptr [ %first, %entry ], [ %next, %loop ]
  %next = load ptr, ptr %at, align 8
  %end = icmp eq ptr %next, null
  br i1 %end, label %exit, label %loop
exit:
  ret void
}

; The declaration does not say how long the array is.
define void @unbounded(ptr %index, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %at = getelementptr inbounds i64, ptr %index, i64 %i
  %k = load i64, ptr %at, align 8
  %q = getelementptr inbounds double, ptr @open, i64 %k
  store double 0.0, ptr %q, align 8
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
; CHECK: declare

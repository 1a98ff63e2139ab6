; A walk in steps longer than a line is checked before the loop too, line by line, by the runtime.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p, i64 %n) {
; CHECK-LABEL: define void @f
; CHECK: ph:
; CHECK: %[[COUNT:.*]] = add i64 %n, -1
; CHECK: call void @__dsm_overwrite_grid(ptr %p, i64 8, i64 4800, i64 %[[COUNT]], i64 0, i64 0)
; CHECK: loop:
; CHECK-NOT: load atomic
; CHECK: store double
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %ph, label %exit
ph:
  br label %loop
loop:
  %i = phi i64 [ 0, %ph ], [ %j, %loop ]
  %q = getelementptr inbounds [600 x double], ptr %p, i64 %i
  store double 1.0, ptr %q, align 8
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

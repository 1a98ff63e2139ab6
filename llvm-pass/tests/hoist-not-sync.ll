; Must not hoist: a loop that may synchronise.
; OPTIONS: disable=single
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @unknown()
define void @f(ptr %p) {
; CHECK-LABEL: define void @f
; CHECK: loop:
; CHECK: load atomic i8
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %q = getelementptr inbounds i32, ptr %p, i64 %i
  store i32 1, ptr %q, align 4
  call void @unknown()
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, 100
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; The switch.
; OPTIONS: disable=overwrite
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @f(ptr %p, i64 %n) {
; CHECK-LABEL: define void @f(
; CHECK-NOT: @__dsm_overwrite_
; CHECK-COUNT-2: call void @__dsm_store_range(
; CHECK-NOT: @__dsm_overwrite_
; CHECK: {{^[}]$}}
entry:
  call void @llvm.memset.p0.i64(ptr %p, i8 1, i64 %n, i1 false)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %pi = getelementptr inbounds double, ptr %p, i64 %i
  store double 1.0, ptr %pi, align 8
  %i1 = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

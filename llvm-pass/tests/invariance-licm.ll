; A load through a read-only parameter stays behind its check when loops are optimised afterwards.
; PIPELINE: dsm,function(loop-mssa(licm))
; OPTIONS: disable=single
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @__kmpc_barrier(ptr, i32)
define void @f(ptr noalias readonly dereferenceable(4) %p, i32 %n) {
; CHECK-LABEL: define void @f
; CHECK: loop:
; CHECK: call void @__kmpc_barrier
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  call void @__kmpc_barrier(ptr null, i32 0)
  %v = load i32, ptr %p, align 4
  %j = add i32 %i, %v
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

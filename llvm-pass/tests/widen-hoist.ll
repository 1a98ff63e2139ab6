; What it is for: LLVM reassociates `i + j * stride + k * plane` and drops what is known of its sums, but the checks leave the loop.
; PIPELINE: default<O2>
; OPTIONS: disable=single
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define double @f(ptr %p, i32 %n, i32 %j, i32 %k, i32 %stride, i32 %plane) {
; CHECK-LABEL: define {{.*}}double @f
; CHECK-NOT: load atomic i8
; CHECK: ret double
; CHECK-NOT: load atomic i8
; CHECK: call void @__dsm_load_range(
; CHECK-NEXT: br label
entry:
  %any = icmp sgt i32 %n, 0
  br i1 %any, label %loop, label %exit
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %so.far = phi double [ 0.0, %entry ], [ %total, %loop ]
  %row = mul nsw i32 %j, %stride
  %sum = add nsw i32 %i, %row
  %level = mul nsw i32 %k, %plane
  %all = add nsw i32 %sum, %level
  %index = sext i32 %all to i64
  %q = getelementptr inbounds double, ptr %p, i64 %index
  %x = load double, ptr %q
  %total = fadd double %so.far, %x
  %next = add nsw i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  %result = phi double [ 0.0, %entry ], [ %total, %loop ]
  ret double %result
}

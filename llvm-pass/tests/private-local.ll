; Must not instrument: a local variable whose address stays here.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @f(i32 %x) {
; CHECK-LABEL: define i32 @f
; CHECK-NOT: load atomic
; CHECK-NOT: dsm.frame
; CHECK: ret i32
  %a = alloca [4 x i32], align 16
  %p = getelementptr [4 x i32], ptr %a, i64 0, i64 2
  store i32 %x, ptr %p, align 4
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 8, i1 false)
  %v = load i32, ptr %p, align 4
  ret i32 %v
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

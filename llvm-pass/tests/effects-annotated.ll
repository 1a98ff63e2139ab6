; What an annotation states of a function is checked before its calls, and nothing else is said of them.
; CHECK-LABEL: define void @f(
; CHECK: [[MN:%.*]] = mul i64 %m, %n
; CHECK: [[BYTES:%.*]] = mul i64 [[MN]], 8
; CHECK: call void @given(ptr %p, i64 %m, i64 %n, ptr %s)
; CHECK-DAG: call void @__dsm_store_range(ptr %p, i64 [[BYTES]])
; CHECK-DAG: call void @__dsm_load_str(ptr %s)
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@text = private constant [51 x i8] c"dsm:writes(arg0, arg1*8*arg2), reads(arg3, string)\00", section "llvm.metadata"
@file = private constant [4 x i8] c"x.c\00", section "llvm.metadata"
@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @given, ptr @text, ptr @file, i32 3, ptr null }], section "llvm.metadata"
declare void @given(ptr, i64, i64, ptr)
define void @f(ptr %p, i64 %m, i64 %n, ptr %s) {
  call void @given(ptr %p, i64 %m, i64 %n, ptr %s)
  ret void
}

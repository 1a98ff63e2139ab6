; Must not instrument: constants and thread-local variables; nor move them.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@mine = internal thread_local global i32 0
; CHECK: @table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]{{$}}
; CHECK: @mine = internal thread_local global i32 0{{$}}
define i32 @f(i64 %i) {
; CHECK-LABEL: define i32 @f
; CHECK-NOT: load atomic
; CHECK: ret i32
  %p = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
  %v = load i32, ptr %p, align 4
  %t = call ptr @llvm.threadlocal.address.p0(ptr @mine)
  store i32 %v, ptr %t, align 4
  ret i32 %v
}
declare ptr @llvm.threadlocal.address.p0(ptr)

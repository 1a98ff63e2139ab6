; An escaping variable-length array lives on the shared stack; stacksave and stackrestore follow.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @use(ptr)
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
define void @f(i64 %n) {
; CHECK-LABEL: define void @f
; CHECK-NOT: stacksave
; CHECK: %[[OLD:.*]] = load ptr, ptr %[[TP:.*]], align 8
; CHECK: mul i64 %n, 4
; CHECK: and i64 %{{.*}}, -16
; CHECK: %[[NEW:.*]] = inttoptr
; CHECK: store ptr %[[NEW]], ptr %[[TP]]
; CHECK: call void @use(ptr %[[NEW]])
; CHECK-NOT: stackrestore
; CHECK: ret void
  %s = call ptr @llvm.stacksave.p0()
  %v = alloca i32, i64 %n, align 16
  call void @use(ptr %v)
  call void @llvm.stackrestore.p0(ptr %s)
  ret void
}

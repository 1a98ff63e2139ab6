; Must not reuse a check across a call of a function that another library's may take the place of: with -fsemantic-interposition, one that can be seen.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f() {
  ret void
}
define dso_local void @own() {
  ret void
}
define i32 @g(ptr %p) {
; CHECK-LABEL: define i32 @g
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
; CHECK: call void @f()
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
  %a = load i32, ptr %p, align 4
  call void @f()
  %b = load i32, ptr %p, align 4
  %s = add i32 %a, %b
  ret i32 %s
}
define i32 @h(ptr %p) {
; CHECK-LABEL: define i32 @h
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
; CHECK: call void @own()
; CHECK-NOT: load atomic i8
; CHECK: ret i32
  %a = load i32, ptr %p, align 4
  call void @own()
  %b = load i32, ptr %p, align 4
  %s = add i32 %a, %b
  ret i32 %s
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"SemanticInterposition", i32 1}

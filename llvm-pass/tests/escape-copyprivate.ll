; The buffer of copyprivate escapes although LLVM calls it not captured: other threads read it.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @__kmpc_copyprivate(ptr captures(none), i32, i64, ptr captures(none), ptr, i32)
define internal void @wrap(ptr captures(none) %p) {
  call void @__kmpc_copyprivate(ptr null, i32 0, i64 8, ptr %p, ptr null, i32 1)
  ret void
}
define void @f() {
; CHECK-LABEL: define void @f
; CHECK: %dsm.frame
; CHECK: call void @wrap(ptr %dsm.frame)
  %x = alloca i64, align 8
  call void @wrap(ptr %x)
  ret void
}

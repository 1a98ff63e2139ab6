; Builds that count: accesses by block, checks where they are made.
; OPTIONS: line=10;count=1
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @f(ptr %p) {
; CHECK-LABEL: define i32 @f
; CHECK: call void @__dsm_count(i64 3, i64 1, i64 0)
; CHECK: call void @__dsm_count(i64 0, i64 0, i64 1)
; CHECK-NEXT: ptrtoint
; CHECK-NOT: __dsm_count
; CHECK: ret i32
  %l = alloca i32, align 4
  store i32 1, ptr %l, align 4
  %v = load i32, ptr %p, align 4
  %w = load i32, ptr %l, align 4
  %s = add i32 %v, %w
  ret i32 %s
}

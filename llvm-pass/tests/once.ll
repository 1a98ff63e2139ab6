; A second run of the pass leaves the module alone.
; PIPELINE: dsm,dsm
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @f(ptr %p) {
; CHECK-LABEL: define i32 @f
; CHECK-COUNT-1: load atomic i8
; CHECK-NOT: load atomic i8
; CHECK: ret i32
  %v = load i32, ptr %p, align 4
  ret i32 %v
}

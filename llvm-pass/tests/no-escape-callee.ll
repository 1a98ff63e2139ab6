; Must not move: a callee in the module that only reads through the pointer, and a libc call.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define internal i32 @get(ptr %p) noinline {
  %v = load i32, ptr %p, align 4
  ret i32 %v
}
declare i64 @strlen(ptr)
define i32 @f() {
; CHECK-LABEL: define i32 @f
; CHECK: %x = alloca i32
; CHECK-NOT: dsm.frame
; CHECK: ret i32
  %x = alloca i32, align 4
  store i32 0, ptr %x, align 4
  %n = call i64 @strlen(ptr %x)
  %v = call i32 @get(ptr %x)
  ret i32 %v
}

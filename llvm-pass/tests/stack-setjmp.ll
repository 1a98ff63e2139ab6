; After a call that returns twice the shared stack pointer is set to this frame's.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare i32 @setjmp(ptr) returns_twice
@buffer = external global [200 x i8]
define i32 @f() {
; CHECK-LABEL: define i32 @f
; CHECK: %[[SP:.*]] = load ptr, ptr %[[TP:.*]], align 8
; CHECK: call i32 @setjmp
; CHECK-NEXT: store ptr %[[SP]], ptr %[[TP]]
  %r = call i32 @setjmp(ptr @buffer) returns_twice
  ret i32 %r
}

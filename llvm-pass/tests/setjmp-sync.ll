; Must not reuse a check across setjmp: control may come back after anything has happened. Its buffer is made writable.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare i32 @_setjmp(ptr) returns_twice
define i32 @f(ptr %p, ptr %b) {
; CHECK-LABEL: define i32 @f
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
; CHECK: call i32 @_setjmp
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
; CHECK: call void @__dsm_store_range(ptr %b, i64 200)
  %a = load i32, ptr %p, align 4
  %r = call i32 @_setjmp(ptr %b) returns_twice
  %c = load i32, ptr %p, align 4
  %s = add i32 %a, %c
  ret i32 %s
}

; Nor across clang's own, which does not look like a call of a function.
declare i32 @llvm.eh.sjlj.setjmp(ptr) returns_twice
define i32 @g(ptr %p, ptr %b) {
; CHECK-LABEL: define i32 @g
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
; CHECK: call i32 @llvm.eh.sjlj.setjmp
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
  %a = load i32, ptr %p, align 4
  %r = call i32 @llvm.eh.sjlj.setjmp(ptr %b) returns_twice
  %c = load i32, ptr %p, align 4
  %s = add i32 %a, %c
  ret i32 %s
}

; Must not reuse a check across a call of a function that has a name of POSIX: it may be the program's, and synchronise. Names of ISO C are the library's.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @sync()
declare i32 @abs(i32)
define i32 @f(ptr %p) {
; CHECK-LABEL: define i32 @f
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
; CHECK: call void @sync()
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
  %a = load i32, ptr %p, align 4
  call void @sync()
  %b = load i32, ptr %p, align 4
  %s = add i32 %a, %b
  ret i32 %s
}
define i32 @g(ptr %p) {
; CHECK-LABEL: define i32 @g
; CHECK: load atomic i8
; CHECK: load i32, ptr %p
; CHECK: call i32 @abs
; CHECK-NOT: load atomic i8
; CHECK: ret i32
  %a = load i32, ptr %p, align 4
  %x = call i32 @abs(i32 %a)
  %b = load i32, ptr %p, align 4
  %s = add i32 %x, %b
  ret i32 %s
}

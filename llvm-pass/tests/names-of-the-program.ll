; Functions of the program that are called like system calls but have another type are the program's own.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare float @select(i64, i64, ptr)
declare i32 @accept(double)
declare i32 @socket(...)
declare i32 @poll(ptr, i64, i32)
declare void @sem_wait(i32)
define void @f(ptr %p) {
; CHECK-LABEL: define void @f
; CHECK: call float @select(i64 1, i64 2, ptr %p)
; CHECK: call i32 @accept(double 1.0
; CHECK: call i32 (...) @__dsm_socket(i32 1, i32 1, i32 0)
; CHECK: call i32 @__dsm_poll(ptr %p, i64 1, i32 0)
; CHECK: call void @sem_wait(i32 7)
  %a = call float @select(i64 1, i64 2, ptr %p)
  %b = call i32 @accept(double 1.0)
  %c = call i32 (...) @socket(i32 1, i32 1, i32 0)
  %d = call i32 @poll(ptr %p, i64 1, i32 0)
  call void @sem_wait(i32 7)
  ret void
}

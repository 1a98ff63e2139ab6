; Must not instrument: a parameter that gets private pointers from every call. One that gets another is checked.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@g = global i32 0
@t = internal thread_local global i32 0

define internal i32 @own(ptr %p) noinline {
; CHECK-LABEL: define internal i32 @own
; CHECK-NOT: load atomic
; CHECK: ret i32
  %v = load i32, ptr %p, align 4
  ret i32 %v
}
define internal i32 @deeper(ptr %p) noinline {
; CHECK-LABEL: define internal i32 @deeper
; CHECK-NOT: load atomic
; CHECK: ret i32
  %q = getelementptr i32, ptr %p, i64 1
  %v = call i32 @own(ptr %q)
  ret i32 %v
}
define internal i32 @mixed(ptr %p) noinline {
; CHECK-LABEL: define internal i32 @mixed
; CHECK: load atomic
; CHECK: ret i32
  %v = load i32, ptr %p, align 4
  ret i32 %v
}
define internal i32 @named(ptr %p) noinline {
; CHECK-LABEL: define internal i32 @named
; CHECK: load atomic
; CHECK: ret i32
  %v = load i32, ptr %p, align 4
  ret i32 %v
}
define ptr @name() {
  ret ptr @named
}
define i32 @f() {
  %a = alloca [2 x i32], align 16
  store [2 x i32] [i32 1, i32 2], ptr %a, align 16
  %t = call ptr @llvm.threadlocal.address.p0(ptr @t)
  %v = call i32 @deeper(ptr %a)
  %w = call i32 @own(ptr %t)
  %x = call i32 @mixed(ptr %a)
  %y = call i32 @mixed(ptr @g)
  %z = call i32 @named(ptr %a)
  %s = add i32 %v, %w
  %r = add i32 %x, %y
  %q = add i32 %r, %z
  %u = add i32 %s, %q
  ret i32 %u
}
declare ptr @llvm.threadlocal.address.p0(ptr)

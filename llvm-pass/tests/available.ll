; A check on all paths serves later accesses; a load's check does not serve a store; one path is not enough.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p, ptr %q, i1 %c) {
; CHECK-LABEL: define void @f
; CHECK: load atomic i8
; CHECK: br i1 %c, label %a, label %b
; CHECK: a:
; CHECK-NOT: load atomic
; CHECK: load i32, ptr %p
; CHECK: load atomic
; CHECK: load i32, ptr %q
; CHECK: b:
; CHECK: icmp ne i8
; CHECK: store i32 1, ptr %p
; CHECK: j:
; CHECK-NOT: load atomic
; CHECK: load i32, ptr %p
; CHECK: load atomic
; CHECK: load i32, ptr %q
  %x = load i32, ptr %p, align 4
  br i1 %c, label %a, label %b
a:
  %y = load i32, ptr %p, align 4
  %z = load i32, ptr %q, align 4
  br label %j
b:
  store i32 1, ptr %p, align 4
  br label %j
j:
  %u = load i32, ptr %p, align 4
  %v = load i32, ptr %q, align 4
  ret void
}

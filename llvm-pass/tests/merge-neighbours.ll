; Accesses within a line's length share one check of both ends; a store among them makes it a store check.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define double @f(ptr %p) {
; CHECK-LABEL: define double @f
; CHECK: load atomic i8
; CHECK: load atomic i8
; CHECK-NEXT: %[[BOTH:.*]] = or i8
; CHECK-NEXT: icmp ne i8 %[[BOTH]], 0
; CHECK-NOT: load atomic
; CHECK: call void @__dsm_store_range(ptr %p, i64 24)
  %a = load double, ptr %p, align 8
  %q = getelementptr i8, ptr %p, i64 8
  %b = load double, ptr %q, align 8
  %s = fadd double %a, %b
  %r = getelementptr i8, ptr %p, i64 16
  store double %s, ptr %r, align 8
  ret double %s
}

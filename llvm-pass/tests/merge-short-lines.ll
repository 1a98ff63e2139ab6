; Neighbours over several short lines share one test of eight states; those a line or more apart do not.
; OPTIONS: line=6
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define double @near(ptr %p) {
; CHECK-LABEL: define double @near
; CHECK: load volatile i64
; CHECK: and i64 %{{.*}}, -72340172838076674
; CHECK-NEXT: fence acquire
; CHECK-NOT: load {{volatile|atomic}}
; CHECK: call void @__dsm_load_range(ptr %p, i64 128)
  %a = load double, ptr %p, align 8
  %q = getelementptr i8, ptr %p, i64 60
  %b = load double, ptr %q, align 4
  %s = fadd double %a, %b
  %r = getelementptr i8, ptr %p, i64 120
  %c = load double, ptr %r, align 8
  %t = fadd double %s, %c
  ret double %t
}

define double @far(ptr %p) {
; CHECK-LABEL: define double @far
; CHECK-NOT: load volatile
; CHECK: ret double
  %a = load double, ptr %p, align 8
  %q = getelementptr i8, ptr %p, i64 72
  %b = load double, ptr %q, align 8
  %s = fadd double %a, %b
  ret double %s
}

; With the switches off every access has its own check.
; OPTIONS: disable=merge,available,hoist
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define double @f(ptr %p) {
; CHECK-LABEL: define double @f
; CHECK-COUNT-3: load atomic i8
; CHECK: ret double
  %a = load double, ptr %p, align 8
  %b = load double, ptr %p, align 8
  %c = load double, ptr %p, align 8
  %s = fadd double %a, %b
  %t = fadd double %s, %c
  ret double %t
}

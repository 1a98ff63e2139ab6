; A store asks for state 0, and volatile accesses are checked like others.
; OPTIONS: line=6
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p) {
; CHECK-LABEL: define void @f
; CHECK: lshr i64 %{{.*}}, 6
; CHECK: icmp ne i8 %{{.*}}, 0
; CHECK: store volatile double
; CHECK: call void @__dsm_store_miss(ptr %p, i64 8)
  store volatile double 0.0, ptr %p, align 8
  ret void
}

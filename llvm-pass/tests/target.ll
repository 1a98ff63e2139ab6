; Target regions tell the runtime when they begin, before anything is inlined; what was outlined of them is no region of its own.
; PIPELINE: dsm-early
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-LABEL: define internal void @__omp_offloading_fe00_1a2b_main_l12(
; CHECK-NEXT: %x = alloca i32
; CHECK-NEXT: call void @__dsm_target(i32 12)
; CHECK-NEXT: store i32 1, ptr %x
define internal void @__omp_offloading_fe00_1a2b_main_l12() {
  %x = alloca i32
  store i32 1, ptr %x
  call void @__omp_offloading_fe00_1a2b_main_l12.omp_outlined(ptr %x)
  ret void
}

; CHECK-LABEL: define internal void @__omp_offloading_fe00_1a2b_main_l12.omp_outlined(
; CHECK-NEXT: store i32 2, ptr %x
define internal void @__omp_offloading_fe00_1a2b_main_l12.omp_outlined(ptr %x) {
  store i32 2, ptr %x
  ret void
}

define void @main() {
  call void @__omp_offloading_fe00_1a2b_main_l12()
  ret void
}

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

; The value that is stored and never read is that of the device clause.
; CHECK-LABEL: define void @main(
; CHECK-NOT: __dsm_target_device
; CHECK: store i32 %h, ptr %device
; CHECK: call void @__dsm_target_device(i32 %h)
; CHECK-NEXT: call void @__omp_offloading_fe00_1a2b_main_l12()
; CHECK-NOT: __dsm_target_device
; CHECK: ret void
define void @main(i32 %h, i32 %n) {
  %device = alloca i32
  %teams = alloca i32
  call void @__omp_offloading_fe00_1a2b_main_l12()
  call void @llvm.lifetime.start.p0(ptr %device)
  store i32 %h, ptr %device
  store i32 %n, ptr %teams
  %read = load i32, ptr %teams
  br label %next

next:
  call void @__omp_offloading_fe00_1a2b_main_l12()
  call void @llvm.lifetime.end.p0(ptr %device)
  call void @__omp_offloading_fe00_1a2b_main_l12()
  ret void
}

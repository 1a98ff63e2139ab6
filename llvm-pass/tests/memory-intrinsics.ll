; Both sides of a copy are checked for their length; nothing is read in front of the pointer if the length is zero.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @f(ptr %d, ptr %s, i64 %n) {
; CHECK-LABEL: define void @f
; CHECK: load volatile i64
; CHECK: fence acquire
; CHECK: icmp uge i64 %{{.*}}, 8
; CHECK: call void @llvm.memcpy
; CHECK-DAG: call void @__dsm_load_range(ptr %s, i64 %n)
; CHECK-DAG: call void @__dsm_overwrite_range(ptr %d, i64 %n)
  call void @llvm.memcpy.p0.p0.i64(ptr %d, ptr %s, i64 %n, i1 false)
  ret void
}

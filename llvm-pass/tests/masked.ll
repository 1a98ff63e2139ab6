; Masked accesses are checked lane by lane where the mask is set, packed ones by their count.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, <4 x i1>, <4 x double>)
declare void @llvm.masked.scatter.v4f64.v4p0(<4 x double>, <4 x ptr>, <4 x i1>)
declare void @llvm.masked.compressstore.v4f64(<4 x double>, ptr, <4 x i1>)
define void @f(ptr %p, <4 x ptr> %q, <4 x i1> %m) {
; CHECK-LABEL: define void @f
; CHECK: extractelement <4 x i1> %m, i32 0
; CHECK: extractelement <4 x i1> %m, i32 3
; CHECK: call <4 x double> @llvm.masked.load
; CHECK: extractelement <4 x ptr> %q, i32 3
; CHECK: call void @llvm.masked.scatter
; CHECK: call i4 @llvm.ctpop.i4
; CHECK: call void @llvm.masked.compressstore
; CHECK-DAG: call void @__dsm_load_range(ptr %p, i64 8)
; CHECK-DAG: call void @__dsm_store_range(ptr %{{.*}}, i64 8)
  %v = call <4 x double> @llvm.masked.load.v4f64.p0(ptr align 8 %p, <4 x i1> %m, <4 x double> zeroinitializer)
  call void @llvm.masked.scatter.v4f64.v4p0(<4 x double> %v, <4 x ptr> %q, <4 x i1> %m)
  call void @llvm.masked.compressstore.v4f64(<4 x double> %v, ptr %p, <4 x i1> %m)
  ret void
}

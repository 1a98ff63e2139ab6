; The target's own gathers, scatters and masked accesses are checked lane by lane where the mask is set; matrices column by column.
; OPTIONS: line=10
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; The lane's sign, the index times the scale, two lanes of four indices.
define <2 x double> @avx2(<2 x double> %from, ptr %p, <4 x i32> %i, <2 x double> %m) "target-features"="+avx2" {
; CHECK-LABEL: define <2 x double> @avx2
; CHECK: [[I:%.*]] = extractelement <4 x i32> %i, i32 1
; CHECK: [[W:%.*]] = sext i32 [[I]] to i64
; CHECK: [[B:%.*]] = mul i64 [[W]], 8
; CHECK: [[A:%.*]] = getelementptr i8, ptr %p, i64 [[B]]
; CHECK: [[M:%.*]] = extractelement <2 x double> %m, i32 1
; CHECK: [[S:%.*]] = bitcast double [[M]] to i64
; CHECK: icmp slt i64 [[S]], 0
; CHECK-NOT: extractelement
; CHECK: call <2 x double> @llvm.x86.avx2.gather.d.pd
; CHECK: call void @__dsm_load_range(ptr [[A]], i64 8)
  %v = call <2 x double> @llvm.x86.avx2.gather.d.pd(<2 x double> %from, ptr %p, <4 x i32> %i, <2 x double> %m, i8 8)
  ret <2 x double> %v
}

define void @avx512(ptr %p, <8 x i64> %i, <8 x i1> %m, <8 x double> %v) "target-features"="+avx512f" {
; CHECK-LABEL: define void @avx512
; CHECK: extractelement <8 x i64> %i, i32 7
; CHECK: extractelement <8 x i1> %m, i32 7
; CHECK: call void @llvm.x86.avx512.mask.scatter.qpd.512
; CHECK: call void @__dsm_store_range(ptr {{.*}}, i64 8)
  call void @llvm.x86.avx512.mask.scatter.qpd.512(ptr %p, <8 x i1> %m, <8 x i64> %i, <8 x double> %v, i32 4)
  ret void
}

define void @maskstore(ptr %p, <4 x i64> %m, <4 x i64> %v) "target-features"="+avx2" {
; CHECK-LABEL: define void @maskstore
; CHECK: extractelement <4 x i64> %m, i32 3
; CHECK: icmp slt i64
; CHECK: call void @llvm.x86.avx2.maskstore.q.256
; CHECK: call void @__dsm_store_range(ptr {{.*}}, i64 8)
  call void @llvm.x86.avx2.maskstore.q.256(ptr %p, <4 x i64> %m, <4 x i64> %v)
  ret void
}

; Only lanes below the vector length.
define <4 x double> @vp(ptr %p, i64 %by, <4 x i1> %m, i32 %n) {
; CHECK-LABEL: define <4 x double> @vp
; CHECK: mul i64 %by, 3
; CHECK: [[M:%.*]] = extractelement <4 x i1> %m, i32 3
; CHECK: [[N:%.*]] = icmp ugt i32 %n, 3
; CHECK: and i1 [[M]], [[N]]
; CHECK: call void @__dsm_load_range(ptr {{.*}}, i64 8)
  %v = call <4 x double> @llvm.experimental.vp.strided.load.v4f64.p0.i64(ptr %p, i64 %by, <4 x i1> %m, i32 %n)
  ret <4 x double> %v
}

define void @matrix(ptr %p, ptr %q, i64 %by) {
; CHECK-LABEL: define void @matrix
; CHECK: call <6 x double> @llvm.matrix.column.major.load
; CHECK: call void @__dsm_load_range(ptr %p, i64 24)
; CHECK: call void @__dsm_load_range(ptr {{.*}}, i64 24)
; CHECK: call void @__dsm_store_range(ptr {{.*}}, i64 24)
  %m = call <6 x double> @llvm.matrix.column.major.load.v6f64.i64(ptr %p, i64 %by, i1 false, i32 3, i32 2)
  call void @llvm.matrix.column.major.store.v6f64.i64(<6 x double> %m, ptr %q, i64 %by, i1 false, i32 3, i32 2)
  ret void
}

define void @moved(ptr %p, ptr %q) {
; CHECK-LABEL: define void @moved
; CHECK-NOT: __dsm
; CHECK: call void @llvm.prefetch
; CHECK: call void @llvm.x86.sse2.clflush
  call void @llvm.prefetch.p0(ptr %p, i32 0, i32 3, i32 1)
  call void @llvm.x86.sse2.clflush(ptr %q)
; CHECK: call void @__dsm_load_{{.*}}(ptr %q
; CHECK: call void @__dsm_store_{{.*}}(ptr %p
  call void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr align 8 %p, ptr align 8 %q, i64 64, i32 8)
  ret void
}
declare <2 x double> @llvm.x86.avx2.gather.d.pd(<2 x double>, ptr, <4 x i32>, <2 x double>, i8)
declare void @llvm.x86.avx512.mask.scatter.qpd.512(ptr, <8 x i1>, <8 x i64>, <8 x double>, i32)
declare void @llvm.x86.avx2.maskstore.q.256(ptr, <4 x i64>, <4 x i64>)
declare <4 x double> @llvm.experimental.vp.strided.load.v4f64.p0.i64(ptr, i64, <4 x i1>, i32)
declare <6 x double> @llvm.matrix.column.major.load.v6f64.i64(ptr, i64, i1, i32, i32)
declare void @llvm.matrix.column.major.store.v6f64.i64(<6 x double>, ptr, i64, i1, i32, i32)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare void @llvm.x86.sse2.clflush(ptr)
declare void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr, ptr, i64, i32)

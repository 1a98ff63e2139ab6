; The caller's implicit copy is made readable; the callee's own copy is private unless its address escapes.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%s = type { [4 x i64] }
define i64 @private(ptr byval(%s) align 8 %b) {
; CHECK-LABEL: define i64 @private
; CHECK-NOT: load atomic
; CHECK: ret i64
  %v = load i64, ptr %b, align 8
  ret i64 %v
}
define void @escapes(ptr byval(%s) align 8 %b, ptr %out) {
; CHECK-LABEL: define void @escapes
; CHECK: call void @__dsm_store_range(ptr %dsm.frame, i64 32)
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr %dsm.frame, ptr %b, i64 32, i1 false)
; CHECK: store ptr %dsm.frame, ptr %out
  store ptr %b, ptr %out, align 8
  ret void
}
define i64 @caller(ptr %p) {
; CHECK-LABEL: define i64 @caller
; CHECK: load atomic i8
; CHECK: call i64 @private
; CHECK: call void @__dsm_load_range(ptr %p, i64 32)
  %v = call i64 @private(ptr byval(%s) align 8 %p)
  ret i64 %v
}

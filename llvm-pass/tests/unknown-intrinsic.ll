; Intrinsics of the target that access memory in a way that the pass does not know.
; STDERR
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK: warning: {{.*}}llvm.x86.xsave accesses memory that may be shared
; CHECK-NOT: warning
define void @f(ptr %p) "target-features"="+xsave" {
  call void @llvm.x86.xsave(ptr %p, i32 1, i32 0)
  ret void
}
declare void @llvm.x86.xsave(ptr, i32, i32)

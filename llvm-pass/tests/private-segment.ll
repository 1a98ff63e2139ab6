; Must not instrument: segment-relative memory is not in the shared address space.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i64 @f() {
; CHECK-LABEL: define i64 @f
; CHECK-NOT: load atomic
; CHECK: ret i64
  %v = load i64, ptr addrspace(257) inttoptr (i64 40 to ptr addrspace(257)), align 8
  ret i64 %v
}

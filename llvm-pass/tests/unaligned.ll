; An access that alignment does not keep in one line has both ends tested, and misses through the range entry.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define <8 x float> @f(ptr %p) {
; CHECK-LABEL: define <8 x float> @f
; CHECK: %[[A:.*]] = ptrtoint ptr %p to i64
; CHECK: %[[E:.*]] = add i64 %[[A]], 31
; CHECK: load atomic i8
; CHECK: load atomic i8
; CHECK: %[[OR:.*]] = or i8
; CHECK: %[[BAD:.*]] = icmp uge i8 %[[OR]], 2
; CHECK: br i1 %[[BAD]]
; CHECK: call void @__dsm_load_range(ptr %p, i64 32)
  %v = load <8 x float>, ptr %p, align 4
  ret <8 x float> %v
}

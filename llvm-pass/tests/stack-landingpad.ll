; A landing pad restores the shared stack pointer that a thrown-through frame left behind.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @throws()
declare i32 @__gxx_personality_v0(...)
define void @f() personality ptr @__gxx_personality_v0 {
; CHECK-LABEL: define void @f
; CHECK: landingpad
; CHECK-NEXT: cleanup
; CHECK-NEXT: store ptr %{{.*}}, ptr %{{.*}}
; CHECK: resume
  invoke void @throws() to label %ok unwind label %bad
ok:
  ret void
bad:
  %e = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %e
}

; A struct that may have more lines than are looked at in the code is left to the runtime.
; OPTIONS: line=6
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%s = type { [100 x i64] }
define void @f(ptr %p, ptr %q) {
; CHECK-LABEL: define void @f
; CHECK-NOT: br
; CHECK: call void @__dsm_load_range(ptr %p, i64 800)
; CHECK: load %s, ptr %p
; CHECK: call void @__dsm_overwrite_range(ptr %q, i64 800)
; CHECK: store %s
  %v = load %s, ptr %p, align 8
  store %s %v, ptr %q, align 8
  ret void
}

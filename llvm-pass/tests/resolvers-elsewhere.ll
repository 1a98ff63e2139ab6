; What a resolver calls elsewhere runs before the runtime, too.
; STDERR
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@probe = internal global ptr null
@scale = ifunc void (), ptr @pick

define ptr @pick() {
; CHECK-NOT: cpu_indicator_init
; CHECK: warning: {{.*}}the resolver of an indirect function calls `elsewhere`, whose code is not in this file
; CHECK: warning: {{.*}}the resolver of an indirect function calls through a pointer
  call void @__cpu_indicator_init()
  call void @elsewhere()
  %f = load ptr, ptr @probe
  call void %f()
  ret ptr @fast
}

define void @fast() {
  ret void
}

declare void @elsewhere()
declare void @__cpu_indicator_init()

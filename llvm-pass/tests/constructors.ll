; Constructors become records that the runtime runs in one process.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 101, ptr @init, ptr null }]
; CHECK-NOT: global_ctors
; CHECK: @__dsm_ctor.0 = internal constant { i64, ptr } { i64 101, ptr @init }, section ".dsm.ctors", align 8
; CHECK: @llvm.compiler.used = {{.*}}@__dsm_ctor.0
define internal void @init() {
  ret void
}

; The program's own allocator gets a name under which the runtime finds it; libraries keep theirs.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-DAG: @__dsm_own_allocator = external global i8
define ptr @malloc(i64 %n) {
; CHECK-LABEL: define ptr @__dsm_program_malloc
  ret ptr null
}
declare void @free(ptr)
define void @f() {
; CHECK-LABEL: define void @f
; CHECK: call ptr @__dsm_program_malloc(i64 8)
; CHECK: call void @__dsm_free(ptr %p)
  %p = call ptr @malloc(i64 8)
  call void @free(ptr %p)
  ret void
}

; Heap calls and uses of the functions' addresses are redirected; sized delete loses its size.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare ptr @malloc(i64)
declare void @free(ptr)
declare void @_ZdlPvm(ptr, i64)
@hook = global ptr @malloc
; CHECK: @hook = global ptr @__dsm_malloc
define void @f() {
; CHECK-LABEL: define void @f
; CHECK: %p = call ptr @__dsm_malloc(i64 8)
; CHECK: call void @__dsm_free(ptr %p)
; CHECK: call void @__dsm_delete(ptr %p)
  %p = call ptr @malloc(i64 8)
  call void @free(ptr %p)
  call void @_ZdlPvm(ptr %p, i64 8)
  ret void
}

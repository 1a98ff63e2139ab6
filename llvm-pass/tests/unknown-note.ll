; The object's note lists functions that get memory which may be shared, with the place and the number of the calls; not what is harmless or private.
; CHECK: @__dsm_note.{{.*}} = internal constant {{.*}}mystery\09{{.*}}unknown-note.ll\090\093\0A
; CHECK-NOT: pure
; CHECK: section ".note.dsm"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.large = type { i64, i64, ptr }
declare void @mystery(ptr, ...)
declare i32 @pure(ptr) memory(none)
declare void @number(i64)
declare i64 @strlen(ptr)
declare void @local(ptr captures(none))
define void @f(ptr %p, i64 %n) {
  %own = alloca i64
  %copy = alloca %struct.large
  call void (ptr, ...) @mystery(ptr %p)
  call void (ptr, ...) @mystery(ptr null, ptr %p)
  call void (ptr, ...) @mystery(ptr null, ptr byval(%struct.large) %copy)
  call i32 @pure(ptr %p)
  call void @number(i64 %n)
  call i64 @strlen(ptr %p)
  call void @local(ptr %own)
  ret void
}

; Must not redirect: an allocator that the program defines.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define internal ptr @malloc(i64 %n) {
  ret ptr null
}
define ptr @f() {
; CHECK-LABEL: define ptr @f
; CHECK: call ptr @malloc(i64 8)
  %p = call ptr @malloc(i64 8)
  ret ptr %p
}

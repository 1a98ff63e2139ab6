; Resolvers run before the runtime does: copies of them, and of what they call here, have no checks and call the C library itself. The functions
; that they choose from keep theirs.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@level = internal global i32 2

@scale = dso_local ifunc void (ptr), ptr @pick
; CHECK: @scale = dso_local ifunc void (ptr), ptr @pick.dsm

define internal void @slow(ptr %p) {
; CHECK-LABEL: define internal void @slow(
; CHECK: call void @__dsm_store_miss
  store i32 1, ptr %p
  ret void
}

define i32 @raised() {
; CHECK-LABEL: define i32 @raised(
; CHECK: call void @__dsm_
  %v = load i32, ptr @level
  %w = add i32 %v, 1
  store i32 %w, ptr @level
  ret i32 %w
}

define ptr @pick() {
; CHECK-LABEL: define ptr @pick(
; CHECK: call {{.*}} @raised()
; CHECK: call void @__dsm_free
  %v = call i32 @raised()
  %p = call ptr @malloc(i64 4)
  call void @free(ptr %p)
  ret ptr @slow
}

define void @use(ptr %p) {
  call void @scale(ptr %p)
  ret void
}

declare ptr @malloc(i64)
declare void @free(ptr)

; CHECK: define internal ptr @pick.dsm() #[[A:[0-9]+]] {
; CHECK-NEXT: call i32 @raised.dsm()
; CHECK-NEXT: call ptr @"\01malloc"
; CHECK-NEXT: call void @"\01free"
; CHECK-NEXT: ret ptr @slow

; CHECK: define internal i32 @raised.dsm()
; CHECK-NOT: __dsm
; CHECK: ret i32

; CHECK: attributes #[[A]] = { "dsm-unchecked" }

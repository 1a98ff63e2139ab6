; Builds that verify: checks enter themselves in front of their look at the states, and every access has an assertion, that of memory which was
; taken for private too. What is a variable on the native stack has none.
; OPTIONS: line=10;verify=1
; PIPELINE: dsm,dsm-verify
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-DAG: @[[OWN:.*]] = private constant {{.*}} c"f (no debug information: compile with -g for the line)\0Aa check of its own\00"
; CHECK-DAG: @[[MERGED:.*]] = private constant {{.*}}merged into the check of the access
; CHECK-DAG: @[[ARGUMENT:.*]] = private constant {{.*}}no check, as the memory is private: a parameter that gets pointers to private memory

define i32 @f(ptr %p) {
; CHECK-LABEL: define i32 @f
; CHECK-NEXT: call void @__dsm_verify_begin()
; CHECK-NOT: __dsm_verify_access
; CHECK: call void @__dsm_verify_checked(ptr %p, i64 1, i32 1)
; CHECK: load atomic i8
; CHECK: call void @__dsm_verify_access(ptr %p, i64 4, i32 0, ptr @[[OWN]])
; CHECK-NEXT: load i32, ptr %p
; CHECK: call void @__dsm_verify_access(ptr %p, i64 4, i32 1, ptr @[[MERGED]])
; CHECK-NEXT: store i32 1, ptr %p
  %local = alloca i32, align 4
  store i32 0, ptr %local, align 4
  %v = load i32, ptr %p, align 4
  store i32 1, ptr %p, align 4
  call void @own(ptr %local)
  ret i32 %v
}

define internal void @own(ptr %p) noinline {
; CHECK-LABEL: define internal void @own
; CHECK-NOT: __dsm_verify_checked
; CHECK: call void @__dsm_verify_access(ptr %p, i64 4, i32 1, ptr @[[ARGUMENT]])
; CHECK-NEXT: store i32 2, ptr %p
  store i32 2, ptr %p, align 4
  ret void
}

define void @copy(ptr %to, ptr %from, i64 %n) {
; CHECK-LABEL: define void @copy
; CHECK: call void @__dsm_verify_access(ptr %from, i64 %n, i32 0
; CHECK: call void @__dsm_verify_access(ptr %to, i64 %n, i32 1
; CHECK-NEXT: call void @llvm.memcpy
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Lanes that are off have no bytes.
define void @lanes(ptr %p, <2 x i1> %on, <2 x i32> %v) {
; CHECK-LABEL: define void @lanes
; CHECK: select i1 {{.*}}, i64 0, i64 4
; CHECK-NEXT: call void @__dsm_verify_access(
; CHECK: select i1 {{.*}}, i64 0, i64 4
; CHECK-NEXT: call void @__dsm_verify_access(
; CHECK-NEXT: call void @llvm.masked.store
  call void @llvm.masked.store.v2i32.p0(<2 x i32> %v, ptr align 4 %p, <2 x i1> %on)
  ret void
}
declare void @llvm.masked.store.v2i32.p0(<2 x i32>, ptr, <2 x i1>)
; CHECK: declare void @__dsm_verify_checked(ptr, i64, i32) #[[CHECKED:[0-9]+]]
; CHECK: attributes #[[CHECKED]] = { nocallback nounwind willreturn memory(inaccessiblemem: readwrite) }

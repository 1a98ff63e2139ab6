; Compiled parts of the C++ library get valid memory, and mutexes are the runtime's.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare i64 @_ZSt11_Hash_bytesPKvmm(ptr, i64, i64)
declare void @_ZNSt8ios_baseC2Ev(ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @__cxa_atexit(ptr, ptr, ptr)

; CHECK-LABEL: @hash(
; CHECK-DAG: call void @__dsm_load_range(ptr %p, i64 %n)
; CHECK-DAG: call i64 @_ZSt11_Hash_bytesPKvmm(ptr %p, i64 %n, i64 1)
define i64 @hash(ptr %p, i64 %n) {
  %h = call i64 @_ZSt11_Hash_bytesPKvmm(ptr %p, i64 %n, i64 1)
  ret i64 %h
}

; CHECK-LABEL: @stream(
; CHECK-DAG: call void @__dsm_store_range(ptr %p, i64 216)
; CHECK-DAG: call void @_ZNSt8ios_baseC2Ev(ptr %p)
define void @stream(ptr %p) {
  call void @_ZNSt8ios_baseC2Ev(ptr %p)
  ret void
}

; CHECK-LABEL: @lock(
; CHECK: call i32 @__dsm_mutex_lock(ptr %p)
; CHECK: call i32 @__dsm_cxa_atexit(ptr @stream, ptr %p, ptr null)
define i32 @lock(ptr %p) {
  %r = call i32 @pthread_mutex_lock(ptr %p)
  %s = call i32 @__cxa_atexit(ptr @stream, ptr %p, ptr null)
  ret i32 %r
}

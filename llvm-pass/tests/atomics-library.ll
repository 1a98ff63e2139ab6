; The functions of libatomic become the runtime's, of the same types; what the program defines itself stays.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @__atomic_load(i64, ptr, ptr, i32)
declare zeroext i1 @__atomic_compare_exchange(i64, ptr, ptr, ptr, i32, i32)
declare i64 @__atomic_fetch_add_8(ptr, i64, i32)
declare i1 @__atomic_is_lock_free(i64, ptr)
define i32 @__atomic_load_4(ptr %p, i32 %order) {
  ret i32 0
}
define i64 @f(ptr %p, ptr %q, ptr %r) {
; CHECK-LABEL: define i64 @f
; CHECK: call void @__dsm_library_atomic_load(i64 24, ptr %p, ptr %q, i32 5)
; CHECK: call zeroext i1 @__dsm_library_atomic_compare_exchange(i64 24, ptr %p, ptr %q, ptr %r, i32 5, i32 5)
; CHECK: call i64 @__dsm_library_atomic_fetch_add_8(ptr %r, i64 1, i32 0)
; CHECK: call i1 @__atomic_is_lock_free
; CHECK: call i32 @__atomic_load_4
  call void @__atomic_load(i64 24, ptr %p, ptr %q, i32 5)
  %ok = call zeroext i1 @__atomic_compare_exchange(i64 24, ptr %p, ptr %q, ptr %r, i32 5, i32 5)
  %n = call i64 @__atomic_fetch_add_8(ptr %r, i64 1, i32 0)
  %free = call i1 @__atomic_is_lock_free(i64 24, ptr %p)
  %own = call i32 @__atomic_load_4(ptr %p, i32 0)
  ret i64 %n
}

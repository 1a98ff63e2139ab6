; The variants that _FORTIFY_SOURCE makes of library functions touch what these do, and open and read as these do.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare ptr @__memcpy_chk(ptr, ptr, i64, i64)
declare ptr @__fgets_chk(ptr, i64, i32, ptr)
declare i64 @__fread_chk(ptr, i64, i64, i64, ptr)
declare i64 @__read_chk(i32, ptr, i64, i64)
declare i32 @__open_2(ptr, i32)
declare ptr @__stpncpy_chk(ptr, ptr, i64, i64)
declare i64 @__recv_chk(i32, ptr, i64, i64, i32)
define void @f(ptr %p, ptr %q, ptr %file, i64 %n, i64 %m, i32 %k) {
; CHECK-LABEL: define void @f
; CHECK: call ptr @__memcpy_chk(ptr %p, ptr %q, i64 %n, i64 %m)
; CHECK: [[LINE:%.*]] = sext i32 %k to i64
; CHECK: [[HERE:%.*]] = call ptr @__dsm_stream(ptr %file)
; CHECK: call ptr @__fgets_chk(ptr %p, i64 %m, i32 %k, ptr [[HERE]])
; CHECK: [[BYTES:%.*]] = mul i64 4, %n
; CHECK: call i64 @__fread_chk
; CHECK: [[FD:%.*]] = call i32 @__dsm_open_2(ptr %q, i32 %k)
; CHECK: [[THERE:%.*]] = call i32 @__dsm_descriptor(i32 [[FD]])
; CHECK: call i64 @__read_chk(i32 [[THERE]], ptr %p, i64 %n, i64 %m)
; CHECK: call ptr @__stpncpy_chk
; CHECK: call i64 @__recv_chk
; CHECK-DAG: call void @__dsm_load_range(ptr %q, i64 %n)
; CHECK-DAG: call void @__dsm_overwrite_range(ptr %p, i64 %n)
; CHECK-DAG: call void @__dsm_store_range(ptr %p, i64 [[LINE]])
; CHECK-DAG: call void @__dsm_store_range(ptr %p, i64 [[BYTES]])
; CHECK-DAG: call void @__dsm_load_range(ptr %q, i64 7)
; CHECK-DAG: call void @__dsm_store_range(ptr %p, i64 7)
; CHECK-DAG: call void @__dsm_store_range(ptr %q, i64 9)
  %a = call ptr @__memcpy_chk(ptr %p, ptr %q, i64 %n, i64 %m)
  %b = call ptr @__fgets_chk(ptr %p, i64 %m, i32 %k, ptr %file)
  %c = call i64 @__fread_chk(ptr %p, i64 %m, i64 4, i64 %n, ptr %file)
  %fd = call i32 @__open_2(ptr %q, i32 %k)
  %d = call i64 @__read_chk(i32 %fd, ptr %p, i64 %n, i64 %m)
  %e = call ptr @__stpncpy_chk(ptr %p, ptr %q, i64 7, i64 %m)
  %g = call i64 @__recv_chk(i32 %fd, ptr %q, i64 9, i64 %m, i32 0)
  ret void
}

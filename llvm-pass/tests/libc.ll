; Library calls: strings behind %s, buffers by their length arguments, outputs of scanf by the format.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@print = private constant [6 x i8] c"%s %d\00"
@scan = private constant [8 x i8] c"%ld %3s\00"
declare i32 @printf(ptr, ...)
declare i32 @sscanf(ptr, ptr, ...)
declare i64 @fwrite(ptr, i64, i64, ptr)
define void @f(ptr %p, ptr %q, ptr %file, i64 %n) {
; CHECK-LABEL: define void @f
; CHECK: call i32 (ptr, ...) @printf
; CHECK: call i32 (ptr, ptr, ...) @sscanf
; CHECK: mul i64 8, %n
; CHECK: call i64 @fwrite
; CHECK-DAG: call void @__dsm_load_str(ptr %p)
; CHECK-DAG: call void @__dsm_store_range(ptr %q, i64 8)
; CHECK-DAG: call void @__dsm_store_range(ptr %p, i64 4)
  %a = call i32 (ptr, ...) @printf(ptr @print, ptr %p, i32 1)
  %b = call i32 (ptr, ptr, ...) @sscanf(ptr %p, ptr @scan, ptr %q, ptr %p)
  %c = call i64 @fwrite(ptr %p, i64 8, i64 %n, ptr %file)
  ret void
}

; Streams that another process may have opened are looked up; the standard ones are right in each process.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@stdout = external global ptr
declare i32 @fputc(i32, ptr)
declare ptr @fopen(ptr, ptr)
declare i32 @fclose(ptr)
declare i64 @readv(i32, ptr, i32)
define void @f(ptr %file, ptr %name) {
; CHECK-LABEL: define void @f
; CHECK: [[HERE:%.*]] = call ptr @__dsm_stream(ptr %file)
; CHECK: call i32 @fputc(i32 65, ptr [[HERE]])
; CHECK: [[OUT:%.*]] = load ptr, ptr @stdout
; CHECK-NOT: __dsm_stream
; CHECK: call i32 @fputc(i32 66, ptr [[OUT]])
; CHECK: call ptr @__dsm_fopen(ptr %name, ptr %name)
; CHECK: call i32 @__dsm_fclose
  %a = call i32 @fputc(i32 65, ptr %file)
  %out = load ptr, ptr @stdout
  %b = call i32 @fputc(i32 66, ptr %out)
  %new = call ptr @fopen(ptr %name, ptr %name)
  %c = call i32 @fclose(ptr %new)
  ret void
}

; The vectors are private; what they name is not.
define void @g(ptr %p, i32 %count) {
; CHECK-LABEL: define void @g
; CHECK: call void @__dsm_store_iovec(ptr {{%.*}}, i32 1)
; CHECK: call i64 @readv
  %list = alloca { ptr, i64 }
  store ptr %p, ptr %list
  %length = getelementptr i8, ptr %list, i64 8
  store i64 100, ptr %length
  %n = call i64 @readv(i32 3, ptr %list, i32 1)
  ret void
}

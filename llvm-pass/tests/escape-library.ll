; A local escapes if a library function stores its address or one computed from it; what it returns is followed.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare i64 @strtol(ptr, ptr, i32)
declare ptr @strchr(ptr, i32)
declare ptr @strtok(ptr, ptr)
declare i32 @pthread_setspecific(i32, ptr)
@place = global ptr null

define void @end(ptr %end) {
; CHECK-LABEL: define void @end
; CHECK: %dsm.frame
; CHECK: call i64 @strtol
  %line = alloca [64 x i8]
  %n = call i64 @strtol(ptr %line, ptr %end, i32 10)
  ret void
}

define void @no_end() {
; CHECK-LABEL: define void @no_end
; CHECK-NOT: %dsm.frame
; CHECK: ret void
  %line = alloca [64 x i8]
  %n = call i64 @strtol(ptr %line, ptr null, i32 10)
  ret void
}

define void @returned() {
; CHECK-LABEL: define void @returned
; CHECK: %dsm.frame
; CHECK: ret void
  %line = alloca [64 x i8]
  %found = call ptr @strchr(ptr %line, i32 58)
  store ptr %found, ptr @place
  ret void
}

define i1 @compared() {
; CHECK-LABEL: define i1 @compared
; CHECK-NOT: %dsm.frame
; CHECK: ret i1
  %line = alloca [64 x i8]
  %found = call ptr @strchr(ptr %line, i32 58)
  %is = icmp eq ptr %found, null
  ret i1 %is
}

define void @token(ptr %separators) {
; CHECK-LABEL: define void @token
; CHECK: %dsm.frame
; CHECK: ret void
  %line = alloca [64 x i8]
  %found = call ptr @strtok(ptr %line, ptr %separators)
  ret void
}

define void @of_key() {
; CHECK-LABEL: define void @of_key
; CHECK: %dsm.frame
; CHECK: ret void
  %line = alloca [64 x i8]
  %status = call i32 @pthread_setspecific(i32 1, ptr %line)
  ret void
}

; Bounds behind which nothing may be: short ones are checked whole, long ones as far as the function goes.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@precision = private constant [9 x i8] c"%.4s %.*s"
declare i64 @strnlen(ptr, i64)
declare i32 @strncmp(ptr, ptr, i64)
declare ptr @memchr(ptr, i32, i64)
declare ptr @strncat(ptr, ptr, i64)
declare i32 @snprintf(ptr, i64, ptr, ...)
declare i32 @printf(ptr, ...)
declare i32 @gethostname(ptr, i64)
declare i64 @read(i32, ptr, i64)
declare ptr @fgets(ptr, i32, ptr)

define void @long(ptr %p, ptr %q) {
; CHECK-LABEL: define void @long
; CHECK: call void @__dsm_load_str_within(ptr %p, i64 -1)
; CHECK: call i64 @strnlen
; CHECK: call void @__dsm_load_compared(ptr %p, ptr %q, i64 -1, i32 0)
; CHECK: call void @__dsm_load_compared(ptr %q, ptr %p, i64 -1, i32 0)
; CHECK: call i32 @strncmp
; CHECK: call i64 @__dsm_load_until(ptr %p, i32 10, i64 -1)
; CHECK: call ptr @memchr
  %a = call i64 @strnlen(ptr %p, i64 -1)
  %b = call i32 @strncmp(ptr %p, ptr %q, i64 -1)
  %c = call ptr @memchr(ptr %p, i32 10, i64 -1)
  ret void
}

define void @short(ptr %p) {
; CHECK-LABEL: define void @short
; CHECK-NOT: __dsm_load_str_within
; CHECK: call i64 @strnlen
; CHECK-NOT: __dsm_load_until
; CHECK: call ptr @memchr
; CHECK: ret void
  %a = call i64 @strnlen(ptr %p, i64 8)
  %c = call ptr @memchr(ptr %p, i32 10, i64 8)
  ret void
}

; A bound that only the call knows decides there.
define void @open(ptr %p, i64 %n) {
; CHECK-LABEL: define void @open
; CHECK: %[[MUCH:.*]] = icmp ugt i64 %n, 4096
; CHECK: br i1 %[[MUCH]], label %[[SIDE:.*]], label %[[TAIL:.*]], !prof
; CHECK: [[TAIL]]:
; CHECK: phi i64 [ %n, %{{.*}} ], [ 0, %[[SIDE]] ]
; CHECK: [[SIDE]]:
; CHECK: call void @__dsm_load_str_within(ptr %p, i64 %n)
  %a = call i64 @strnlen(ptr %p, i64 %n)
  ret void
}

define void @written(ptr %p, ptr %q, i64 %n) {
; CHECK-LABEL: define void @written
; CHECK: call i64 @strnlen(ptr %p, i64 -1)
; CHECK: call i64 @strnlen(ptr %q, i64 6)
; CHECK: call i32 (ptr, i64, ptr, ...) @snprintf(ptr null, i64 0, ptr @precision
  %a = call ptr @strncat(ptr %p, ptr %q, i64 6)
  %b = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %p, i64 %n, ptr @precision, ptr %q, i32 3, ptr %q)
  %c = call i32 @gethostname(ptr %p, i64 -1)
  ret void
}

; The precision of a format bounds its string.
define void @precisions(ptr %p, ptr %q, i32 %n) {
; CHECK-LABEL: define void @precisions
; CHECK-NOT: @__dsm_load_str(
; CHECK: %[[LIMIT:.*]] = sext i32 %n to i64
; CHECK: icmp ugt i64 %[[LIMIT]], 4096
; CHECK: call void @__dsm_load_str_within(ptr %q, i64 %[[LIMIT]])
  %a = call i32 (ptr, ...) @printf(ptr @precision, ptr %p, i32 %n, ptr %q)
  ret void
}

; How much arrives is known afterwards.
define void @arriving(ptr %p, ptr %file) {
; CHECK-LABEL: define void @arriving
; CHECK: call i64 @__dsm_read(i32 3, ptr %p, i64 -1)
; CHECK: call ptr @__dsm_fgets(ptr %p, i32 2147483647, ptr %file)
  %a = call i64 @read(i32 3, ptr %p, i64 -1)
  %b = call ptr @fgets(ptr %p, i32 2147483647, ptr %file)
  ret void
}

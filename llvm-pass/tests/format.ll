; Formats that are not constant, and arguments behind a va_list, are read by the runtime before the call.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@open = private constant [6 x i8] c"%d %s\00"
declare i32 @printf(ptr, ...)
declare i32 @sprintf(ptr, ptr, ...)
declare i32 @sscanf(ptr, ptr, ...)
declare i32 @scanf(ptr, ...)
declare i32 @vprintf(ptr, ptr)
declare i32 @vsprintf(ptr, ptr, ptr)
declare i32 @vsscanf(ptr, ptr, ptr)
declare i32 @vasprintf(ptr, ptr, ptr)
define void @f(ptr %p, ptr %q, ptr %format, ptr %list) {
; CHECK-LABEL: define void @f
; CHECK: call void (ptr, ...) @__dsm_print_arguments(ptr %format, ptr %p, double
; CHECK: call i32 (ptr, ...) @printf
; CHECK: call void (ptr, ptr, ...) @__dsm_print_to_arguments(ptr %q, ptr %format, ptr %p)
; CHECK: call i32 (ptr, ptr, ...) @sprintf
; CHECK: call void (ptr, ptr, ...) @__dsm_scan_arguments(ptr %p, ptr %format, ptr %q)
; CHECK: call void (ptr, ptr, ...) @__dsm_scan_arguments(ptr null, ptr @open, ptr %q, ptr %p)
; CHECK: call void @__dsm_print_list(ptr %format, ptr %list)
; CHECK: call i32 @vprintf
; CHECK: call void @__dsm_print_to_list(ptr %q, ptr %format, ptr %list)
; CHECK: call void @__dsm_scan_list(ptr %p, ptr %format, ptr %list)
; CHECK: call i32 @__dsm_vasprintf(ptr %q, ptr %format, ptr %list)
  %a = call i32 (ptr, ...) @printf(ptr %format, ptr %p, double 1.0)
  %b = call i32 (ptr, ptr, ...) @sprintf(ptr %q, ptr %format, ptr %p)
  %c = call i32 (ptr, ptr, ...) @sscanf(ptr %p, ptr %format, ptr %q)
  %d = call i32 (ptr, ...) @scanf(ptr @open, ptr %q, ptr %p)
  %e = call i32 @vprintf(ptr %format, ptr %list)
  %g = call i32 @vsprintf(ptr %q, ptr %format, ptr %list)
  %h = call i32 @vsscanf(ptr %p, ptr %format, ptr %list)
  %i = call i32 @vasprintf(ptr %q, ptr %format, ptr %list)
  ret void
}

; Nothing to make valid behind numbers, whatever the format says about them.
define void @g(ptr %format, i32 %n) {
; CHECK-LABEL: define void @g
; CHECK-NOT: __dsm_print
; CHECK: ret void
  %a = call i32 (ptr, ...) @printf(ptr %format, i32 %n)
  ret void
}

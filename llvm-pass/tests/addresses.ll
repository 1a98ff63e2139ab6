; The address of a library function is that of a function that checks what it touches; direct calls stay.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare i32 @strcmp(ptr, ptr)
declare signext i16 @other(ptr)
declare i32 @toupper(i32)
declare extern_weak i64 @strlen(ptr)
declare i32 @fputs(ptr, ptr)
declare i32 @sprintf(ptr, ptr, ...)
declare i32 @sscanf(ptr, ptr, ...)
declare i32 @_setjmp(ptr) returns_twice
declare void @take(ptr)

; In initialisers, as a part of an expression, too.
@table = constant [4 x ptr] [ptr @strcmp, ptr @other, ptr @toupper, ptr @fputs]
@number = global i64 add (i64 ptrtoint (ptr @strcmp to i64), i64 1)
; CHECK: @table = constant [4 x ptr] [ptr @__dsm_checked_strcmp, ptr @other, ptr @toupper, ptr @__dsm_checked_fputs]
; CHECK: @number = global i64 add (i64 ptrtoint (ptr @__dsm_checked_strcmp to i64), i64 1)

; CHECK-LABEL: define i1 @f
; CHECK: call i32 @strcmp
; CHECK: icmp eq ptr %{{.*}}, @__dsm_checked_strcmp
; CHECK: call void @take(ptr @__dsm_checked_strcmp)
; CHECK: call void @take(ptr @__dsm_checked_sprintf)
; CHECK: call void @take(ptr @__dsm_checked_sscanf)
define i1 @f(ptr %order, ptr %p, ptr %q) {
  %a = call i32 @strcmp(ptr %p, ptr %q)
  %b = icmp eq ptr %order, @strcmp
  call void @take(ptr @strcmp)
  call void @take(ptr @sprintf)
  call void @take(ptr @sscanf)
  ret i1 %b
}

; Whether there is one at all is what a weak reference tells; whoever returns twice needs the caller's frame.
; CHECK-LABEL: define i1 @g
; CHECK: icmp eq ptr @strlen, null
; CHECK: call void @take(ptr @_setjmp)
define i1 @g() {
  %a = icmp eq ptr @strlen, null
  call void @take(ptr @_setjmp)
  ret i1 %a
}

; CHECK-LABEL: define linkonce_odr i32 @__dsm_checked_strcmp(ptr %0, ptr %1) comdat {
; CHECK: %[[RESULT:.*]] = call i32 @strcmp(ptr %0, ptr %1)
; CHECK-NEXT: ret i32 %[[RESULT]]
; CHECK: call void @__dsm_load_str(ptr %0)
; CHECK: call void @__dsm_load_str(ptr %1)

; CHECK-LABEL: define linkonce_odr i32 @__dsm_checked_fputs(
; CHECK: %[[STREAM:.*]] = call ptr @__dsm_stream(ptr %1)
; CHECK-NEXT: call i32 @fputs(ptr %0, ptr %[[STREAM]])

; Variable arguments are looked at in a list, and handed on.
; CHECK-LABEL: define linkonce_odr i32 @__dsm_checked_sprintf(
; CHECK: %[[LIST:.*]] = alloca [24 x i8], align 16
; CHECK: call void @llvm.va_start.p0(ptr %[[LIST]])
; CHECK-NEXT: call void @__dsm_print_to_list(ptr %0, ptr %1, ptr %[[LIST]])
; CHECK-NEXT: call void @llvm.va_end.p0(ptr %[[LIST]])
; CHECK-NEXT: %[[PRINTED:.*]] = musttail call i32 (ptr, ptr, ...) @sprintf(ptr %0, ptr %1, ...)
; CHECK-NEXT: ret i32 %[[PRINTED]]

; CHECK-LABEL: define linkonce_odr i32 @__dsm_checked_sscanf(
; CHECK: call void @__dsm_scan_list(ptr %0, ptr %1, ptr
; CHECK: musttail call i32 (ptr, ptr, ...) @sscanf(ptr %0, ptr %1, ...)

; What the program declares private: a global stays in its section, a local on the native stack though its address escapes, and a
; marked pointer is the pointer itself; none of them is checked.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@.str = private unnamed_addr constant [12 x i8] c"dsm_private\00", section "llvm.metadata"
@.other = private unnamed_addr constant [6 x i8] c"other\00", section "llvm.metadata"
@.file = private unnamed_addr constant [4 x i8] c"a.c\00", section "llvm.metadata"
@own = global i32 1, align 4
@shared = global i32 1, align 4
@llvm.global.annotations = appending global [2 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @own, ptr @.str, ptr @.file, i32 1, ptr null }, { ptr, ptr, ptr, i32, ptr } { ptr @shared, ptr @.other, ptr @.file, i32 2, ptr null }], section "llvm.metadata"

; CHECK: @own = global i32 1, align 4{{$}}
; CHECK: @shared = global i32 1, align 4 #

define i32 @globals() {
; CHECK-LABEL: define i32 @globals
; CHECK-NEXT: load i32, ptr @own
; CHECK: load atomic
; CHECK: load i32, ptr @shared
  %a = load i32, ptr @own, align 4
  %b = load i32, ptr @shared, align 4
  %s = add i32 %a, %b
  ret i32 %s
}

define void @local() {
; CHECK-LABEL: define void @local
; CHECK-NEXT: %l = alloca
; CHECK-NOT: load atomic
; CHECK: ret void
  %l = alloca i32, align 4
  call void @llvm.var.annotation.p0.p0(ptr %l, ptr @.str, ptr @.file, i32 3, ptr null)
  store i32 1, ptr %l, align 4
  call void @keep(ptr %l)
  ret void
}

define i32 @pointer(ptr %p) {
; CHECK-LABEL: define i32 @pointer
; CHECK-NEXT: load i32, ptr %p
; CHECK-NEXT: ret
  %q = call ptr @__dsm_private(ptr %p)
  %v = load i32, ptr %q, align 4
  ret i32 %v
}

declare ptr @__dsm_private(ptr)
declare void @keep(ptr)
declare void @llvm.var.annotation.p0.p0(ptr, ptr, ptr, i32, ptr)

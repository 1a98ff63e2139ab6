; What an assignment of the Fortran library stores to need not be fetched.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @_FortranAAssign(ptr, ptr, ptr, i32)
declare void @_FortranAPointerNullify(ptr)
declare void @_FortranAAssignTemporary(ptr, ptr, ptr, i32)
declare void @_FortranAInitialize(ptr, ptr, i32)
@to = external global [64 x i8]
@from = external global [64 x i8]
@file = constant [2 x i8] c"x\00"

define void @f() {
; CHECK-LABEL: define void @f(
; CHECK: call void @__dsm_fortran_read(ptr @from)
; CHECK: call void @__dsm_fortran_overwrite(ptr @to)
; CHECK: call void @_FortranAAssign
  call void @_FortranAAssign(ptr @to, ptr @from, ptr @file, i32 1)
  ret void
}

; What the library defines may hold anything before.
define void @undefined() {
; CHECK-LABEL: define void @undefined(
; CHECK: call void @__dsm_fortran_define(ptr @to)
; CHECK: call void @_FortranAInitialize
; CHECK: call void @__dsm_fortran_read(ptr @from)
; CHECK: call void @__dsm_fortran_define(ptr @to)
; CHECK: call void @_FortranAAssignTemporary
  call void @_FortranAInitialize(ptr @to, ptr @file, i32 1)
  call void @_FortranAAssignTemporary(ptr @to, ptr @from, ptr @file, i32 1)
  ret void
}

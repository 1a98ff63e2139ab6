; flang's library: descriptors stay private, what they name is made valid; statements go through the runtime.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare ptr @_FortranAioBeginExternalListOutput(i32, ptr, i32)
declare i1 @_FortranAioOutputDescriptor(ptr, ptr)
declare i32 @_FortranAioEndIoStatement(ptr)
declare i1 @_FortranAioInputReal64(ptr, ptr)
declare double @_FortranASumReal8(ptr, ptr, i32, i32, ptr)
declare void @_FortranAPointerAssociateScalar(ptr, ptr)
declare void @_FortranANoSuchThing(ptr)
declare void @llvm.init.trampoline(ptr, ptr, ptr)
; What the linker takes from the library.
; CHECK: @__dsm_library._FortranAioBeginExternalListOutput = internal constant ptr @_FortranAioBeginExternalListOutput

define double @f(ptr %array, ptr %x) {
; CHECK-LABEL: define double @f
; CHECK-NOT: @__dsm_shared_sp
; CHECK: call ptr @__dsm_ioBeginExternalListOutput
; CHECK: call void @__dsm_fortran_read(ptr %descriptor)
; CHECK: call i1 @__dsm_ioOutputDescriptor
; CHECK: call i1 @__dsm_ioInputReal64
; CHECK: call i32 @__dsm_ioEndIoStatement
; CHECK: call void @__dsm_fortran_read(ptr %descriptor)
; CHECK: call double @_FortranASumReal8
; CHECK-DAG: call void @__dsm_store_range(ptr %x, i64 8)
  %descriptor = alloca [48 x i8], align 8
  store ptr %array, ptr %descriptor
  %cookie = call ptr @_FortranAioBeginExternalListOutput(i32 6, ptr null, i32 1)
  %a = call i1 @_FortranAioOutputDescriptor(ptr %cookie, ptr %descriptor)
  %b = call i1 @_FortranAioInputReal64(ptr %cookie, ptr %x)
  %c = call i32 @_FortranAioEndIoStatement(ptr %cookie)
  %sum = call double @_FortranASumReal8(ptr %descriptor, ptr null, i32 1, i32 0, ptr null)
  ret double %sum
}

; The target's address is stored in the descriptor, so the target is on the shared stack.
define void @keeps() {
; CHECK-LABEL: define void @keeps
; CHECK: @__dsm_shared_sp
  %descriptor = alloca [48 x i8], align 8
  %target = alloca double, align 8
  call void @_FortranAPointerAssociateScalar(ptr %descriptor, ptr %target)
  ret void
}

; Nothing is known of other entries.
define void @unknown() {
; CHECK-LABEL: define void @unknown
; CHECK: @__dsm_shared_sp
  %local = alloca [48 x i8], align 8
  call void @_FortranANoSuchThing(ptr %local)
  ret void
}

; A trampoline holds the address of its procedure's variables.
define void @trampoline(ptr %shared) {
; CHECK-LABEL: define void @trampoline
; CHECK: @__dsm_shared_sp
; CHECK: call void @llvm.init.trampoline
; CHECK: call void @__dsm_store_range(ptr %shared, i64 32)
  %frame = alloca [16 x i8], align 8
  call void @llvm.init.trampoline(ptr %shared, ptr @unknown, ptr %frame)
  ret void
}

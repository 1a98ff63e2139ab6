; The runtime learns how many bytes the variables of a copyprivate clause have, if the function of the clause does nothing but copy them.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @__kmpc_copyprivate(ptr, i32, i64, ptr, ptr, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; CHECK-DAG: [[LIST:@__dsm_copyprivate.*]] = internal constant [2 x i64] [i64 8, i64 300]
; CHECK-DAG: [[VARIABLE:@__dsm_copyprivate.*]] = internal constant [1 x i64] [i64 16]

define internal void @copy_list(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  %b = load ptr, ptr %from, align 8
  %x = load double, ptr %b, align 8
  store double %x, ptr %a, align 8
  %to2 = getelementptr inbounds i8, ptr %to, i64 8
  %from2 = getelementptr inbounds i8, ptr %from, i64 8
  %c = load ptr, ptr %to2, align 8
  %d = load ptr, ptr %from2, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %c, ptr %d, i64 300, i1 false)
  ret void
}
define void @list(ptr %variables, i32 %executed) {
; CHECK-LABEL: define void @list
; CHECK: call void @__dsm_copyprivate_copies(ptr [[LIST]], i32 2)
; CHECK-NEXT: call void @__kmpc_copyprivate
  call void @__kmpc_copyprivate(ptr null, i32 0, i64 16, ptr %variables, ptr @copy_list, i32 %executed)
  ret void
}

; A record of flang, in two parts.
define internal void @copy_record(ptr %to, ptr %from) {
  %x = load i32, ptr %from, align 4
  store i32 %x, ptr %to, align 4
  %from4 = getelementptr i8, ptr %from, i64 4
  %to4 = getelementptr i8, ptr %to, i64 4
  call void @llvm.memcpy.p0.p0.i64(ptr %to4, ptr %from4, i64 12, i1 false)
  ret void
}
define void @variable(ptr %record, i32 %executed) {
; CHECK-LABEL: define void @variable
; CHECK: call void @__dsm_copyprivate_copies(ptr [[VARIABLE]], i32 1)
; CHECK-NEXT: call void @__kmpc_copyprivate
  call void @__kmpc_copyprivate(ptr null, i32 0, i64 0, ptr %record, ptr @copy_record, i32 %executed)
  ret void
}

; A hole, a swap, a change, and what is too long for a message.
define internal void @copy_hole(ptr %to, ptr %from) {
  %x = load i32, ptr %from, align 4
  store i32 %x, ptr %to, align 4
  %from8 = getelementptr i8, ptr %from, i64 8
  %to8 = getelementptr i8, ptr %to, i64 8
  %y = load i32, ptr %from8, align 4
  store i32 %y, ptr %to8, align 4
  ret void
}
define internal void @copy_swapped(ptr %to, ptr %from) {
  %x = load i32, ptr %from, align 4
  %to4 = getelementptr i8, ptr %to, i64 4
  store i32 %x, ptr %to4, align 4
  %from4 = getelementptr i8, ptr %from, i64 4
  %y = load i32, ptr %from4, align 4
  store i32 %y, ptr %to, align 4
  ret void
}
define internal void @copy_changed(ptr %to, ptr %from) {
  %x = load i32, ptr %from, align 4
  %y = add i32 %x, 1
  store i32 %y, ptr %to, align 4
  ret void
}
define internal void @copy_much(ptr %to, ptr %from) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 8193, i1 false)
  ret void
}
define void @others(ptr %variable, i32 %executed) {
; CHECK-LABEL: define void @others
; CHECK-NOT: __dsm_copyprivate_copies
; CHECK: ret void
  call void @__kmpc_copyprivate(ptr null, i32 0, i64 0, ptr %variable, ptr @copy_hole, i32 %executed)
  call void @__kmpc_copyprivate(ptr null, i32 0, i64 0, ptr %variable, ptr @copy_swapped, i32 %executed)
  call void @__kmpc_copyprivate(ptr null, i32 0, i64 0, ptr %variable, ptr @copy_changed, i32 %executed)
  call void @__kmpc_copyprivate(ptr null, i32 0, i64 0, ptr %variable, ptr @copy_much, i32 %executed)
  ret void
}

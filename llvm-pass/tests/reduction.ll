; The runtime is told how long the private copies of a reduction are, if the function that combines them looks at nothing else and they are numbers in locals.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@table = global [4 x double] zeroinitializer
declare i32 @__kmpc_reduce_nowait(ptr, i32, i32, i64, ptr, ptr, ptr)
declare void @elsewhere(i64)

; CHECK-DAG: [[SIZES:@__dsm_reduction.*]] = internal constant [2 x i64] [i64 8, i64 48]

define internal void @combine(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  %b = load ptr, ptr %from, align 8
  %x = load double, ptr %a, align 8
  %y = load double, ptr %b, align 8
  %z = call double @llvm.maxnum.f64(double %x, double %y)
  store double %z, ptr %a, align 8
  %to2 = getelementptr inbounds i8, ptr %to, i64 8
  %from2 = getelementptr inbounds i8, ptr %from, i64 8
  %c = load ptr, ptr %to2, align 8
  %d = load ptr, ptr %from2, align 8
  %e = getelementptr inbounds i8, ptr %c, i64 40
  %f = getelementptr inbounds i8, ptr %d, i64 40
  %v = load i64, ptr %e, align 8
  %w = load i64, ptr %f, align 8
  %s = add i64 %v, %w
  store i64 %s, ptr %e, align 8
  ret void
}
define i32 @numbers(double %x) {
; CHECK-LABEL: define i32 @numbers
; CHECK: call void @__dsm_reduction_copies(ptr [[SIZES]], i32 2)
; CHECK-NEXT: call i32 @__kmpc_reduce_nowait
  %max = alloca double, align 8
  %sums = alloca [6 x i64], align 8
  %list = alloca [2 x ptr], align 8
  store double %x, ptr %max, align 8
  store ptr %max, ptr %list, align 8
  %second = getelementptr inbounds i8, ptr %list, i64 8
  store ptr %sums, ptr %second, align 8
  %r = call i32 @__kmpc_reduce_nowait(ptr null, i32 0, i32 2, i64 16, ptr %list, ptr @combine, ptr null)
  ret i32 %r
}

; Two copies of a loop, which share list and locals; where these differ in size, nothing is told.
define i32 @copies(double %x, i1 %which) {
; CHECK-LABEL: define i32 @copies
; CHECK: call void @__dsm_reduction_copies(ptr @__dsm_reduction.{{[0-9]+}}, i32 1)
; CHECK-NEXT: call i32 @__kmpc_reduce_nowait
; CHECK: call void @__dsm_reduction_copies(ptr @__dsm_reduction.{{[0-9]+}}, i32 1)
; CHECK-NEXT: call i32 @__kmpc_reduce_nowait
; CHECK-NOT: __dsm_reduction_copies
; CHECK: ret i32
entry:
  %sum = alloca i64, align 8
  %long = alloca [2 x i64], align 8
  %list = alloca [1 x ptr], align 8
  %mixed = alloca [1 x ptr], align 8
  br i1 %which, label %one, label %two
one:
  store ptr %sum, ptr %list, align 8
  %r = call i32 @__kmpc_reduce_nowait(ptr null, i32 0, i32 1, i64 8, ptr %list, ptr @add, ptr null)
  store ptr %sum, ptr %mixed, align 8
  br label %end
two:
  store ptr %sum, ptr %list, align 8
  %s = call i32 @__kmpc_reduce_nowait(ptr null, i32 0, i32 1, i64 8, ptr %list, ptr @add, ptr null)
  store ptr %long, ptr %mixed, align 8
  br label %end
end:
  %t = call i32 @__kmpc_reduce_nowait(ptr null, i32 0, i32 1, i64 8, ptr %mixed, ptr @add, ptr null)
  ret i32 %t
}
define internal void @add(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  %b = load ptr, ptr %from, align 8
  %x = load i64, ptr %a, align 8
  %y = load i64, ptr %b, align 8
  %z = add i64 %x, %y
  store i64 %z, ptr %a, align 8
  ret void
}

; Of a struct with a pointer, a copy will not do.
%struct.list = type { i64, ptr }
define internal void @first(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  %b = load ptr, ptr %from, align 8
  %x = load i64, ptr %a, align 8
  %y = load i64, ptr %b, align 8
  %z = add i64 %x, %y
  store i64 %z, ptr %a, align 8
  ret void
}
define i32 @pointers() {
; CHECK-LABEL: define i32 @pointers
; CHECK-NOT: __dsm_reduction_copies
; CHECK: ret i32
  %mine = alloca %struct.list, align 8
  %list = alloca [1 x ptr], align 8
  store i64 1, ptr %mine, align 8
  store ptr %mine, ptr %list, align 8
  %r = call i32 @__kmpc_reduce_nowait(ptr null, i32 0, i32 1, i64 8, ptr %list, ptr @first, ptr null)
  ret i32 %r
}

; A function that looks at a table needs what others have written there.
define internal void @looks(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  %b = load ptr, ptr %from, align 8
  %y = load i64, ptr %b, align 8
  %entry = getelementptr inbounds double, ptr @table, i64 %y
  %z = load i64, ptr %entry, align 8
  store i64 %z, ptr %a, align 8
  ret void
}
define internal void @calls(ptr %to, ptr %from) {
  %b = load ptr, ptr %from, align 8
  %y = load i64, ptr %b, align 8
  call void @elsewhere(i64 %y)
  ret void
}
define i32 @effects() {
; CHECK-LABEL: define i32 @effects
; CHECK-NOT: __dsm_reduction_copies
; CHECK: ret i32
  %mine = alloca i64, align 8
  %list = alloca [1 x ptr], align 8
  store i64 1, ptr %mine, align 8
  store ptr %mine, ptr %list, align 8
  %r = call i32 @__kmpc_reduce_nowait(ptr null, i32 0, i32 1, i64 8, ptr %list, ptr @looks, ptr null)
  %s = call i32 @__kmpc_reduce_nowait(ptr null, i32 0, i32 1, i64 8, ptr %list, ptr @calls, ptr null)
  ret i32 %s
}

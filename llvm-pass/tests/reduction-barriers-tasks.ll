; Tasks of a construct may store to the private copies until the barrier in front of the reduction executes them.
; PIPELINE: dsm-early
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@where = external constant i8
@lock = common global [8 x i32] zeroinitializer

declare void @__kmpc_barrier(ptr, i32)
declare i32 @__kmpc_reduce(ptr, i32, i32, i64, ptr, ptr, ptr)
declare void @__kmpc_end_reduce(ptr, i32, ptr)
declare ptr @__kmpc_omp_task_alloc(ptr, i32, i32, i64, i64, ptr)

define internal void @combine(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  %b = load ptr, ptr %from, align 8
  %y = load double, ptr %b, align 8
  store double %y, ptr %a, align 8
  ret void
}

define void @loop() {
; CHECK-LABEL: define void @loop
; CHECK: call void @__kmpc_barrier
; CHECK: call i32 @__kmpc_reduce
; CHECK-NOT: call void @__kmpc_barrier
; CHECK: ret void
  %mine = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  %task = call ptr @__kmpc_omp_task_alloc(ptr @where, i32 0, i32 1, i64 40, i64 8, ptr null)
  store double 1.0, ptr %mine, align 8
  call void @__kmpc_barrier(ptr @where, i32 0)
  store ptr %mine, ptr %list, align 8
  %how = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  switch i32 %how, label %after [
    i32 1, label %one
    i32 2, label %one
  ]
one:
  call void @__kmpc_end_reduce(ptr @where, i32 0, ptr @lock)
  br label %after
after:
  call void @__kmpc_barrier(ptr @where, i32 0)
  ret void
}

; Barriers beside a reduction that waits for all threads are left out; a reduction at the end of a region leaves its barrier to that.
; PIPELINE: dsm-early
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@where = external constant i8
@lock = common global [8 x i32] zeroinitializer

declare i32 @__kmpc_global_thread_num(ptr)
declare void @__kmpc_barrier(ptr, i32)
declare i32 @__kmpc_reduce(ptr, i32, i32, i64, ptr, ptr, ptr)
declare void @__kmpc_end_reduce(ptr, i32, ptr)
declare i32 @__kmpc_reduce_nowait(ptr, i32, i32, i64, ptr, ptr, ptr)
declare void @__kmpc_end_reduce_nowait(ptr, i32, ptr)
declare void @__kmpc_for_static_fini(ptr, i32)
declare void @__kmpc_fork_call(ptr, i32, ptr, ...)
declare void @llvm.lifetime.end.p0(ptr)
declare void @other()

define internal void @combine(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  %x = load double, ptr %a, align 8
  %b = load ptr, ptr %from, align 8
  %y = load double, ptr %b, align 8
  %z = fadd double %x, %y
  store double %z, ptr %a, align 8
  ret void
}

; Each process combines under the lock: others may not have come yet.
define internal void @combine_by_call(ptr %to, ptr %from) {
  call void @other()
  ret void
}

; As flang makes it.
define void @both(ptr %sum) {
; CHECK-LABEL: define void @both
; CHECK: __kmpc_for_static_fini
; CHECK-NOT: __kmpc_barrier
; CHECK: call i32 @__kmpc_reduce(
; CHECK: call void @__kmpc_end_reduce(
; CHECK-NOT: __kmpc_barrier
; CHECK: call void @other
; CHECK: ret void
entry:
  %mine = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  store double 1.0, ptr %mine, align 8
  call void @__kmpc_for_static_fini(ptr @where, i32 0)
  %number = call i32 @__kmpc_global_thread_num(ptr @where)
  call void @__kmpc_barrier(ptr @where, i32 %number)
  br label %reduce
reduce:
  %first = getelementptr inbounds [1 x ptr], ptr %list, i64 0, i64 0
  store ptr %mine, ptr %first, align 8
  %again = call i32 @__kmpc_global_thread_num(ptr @where)
  %how = call i32 @__kmpc_reduce(ptr @where, i32 %again, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  switch i32 %how, label %after [
    i32 1, label %one
    i32 2, label %atomically
  ]
atomically:
  unreachable
one:
  %x = load double, ptr %sum, align 8
  %y = load double, ptr %mine, align 8
  %z = fadd double %x, %y
  store double %z, ptr %sum, align 8
  call void @__kmpc_end_reduce(ptr @where, i32 %again, ptr @lock)
  br label %after
after:
  %more = call i32 @__kmpc_global_thread_num(ptr @where)
  call void @__kmpc_barrier(ptr @where, i32 %more)
  call void @other()
  ret void
}

define void @under_lock(ptr %sum) {
; CHECK-LABEL: define void @under_lock
; CHECK: call void @__kmpc_barrier
; CHECK: call i32 @__kmpc_reduce(
; CHECK-NOT: __kmpc_barrier
; CHECK: ret void
entry:
  %mine = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  store double 1.0, ptr %mine, align 8
  call void @__kmpc_barrier(ptr @where, i32 0)
  store ptr %mine, ptr %list, align 8
  %how = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine_by_call, ptr @lock)
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

; More than the list is stored, or the loop is left by another way: the barrier in front stays.
define void @in_front(ptr %sum, i1 %skip) {
; CHECK-LABEL: define void @in_front
; CHECK: call void @__kmpc_barrier
; CHECK: call i32 @__kmpc_reduce(
; CHECK: call void @__kmpc_barrier
; CHECK: call i32 @__kmpc_reduce(
; CHECK: ret void
entry:
  %mine = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  call void @__kmpc_barrier(ptr @where, i32 0)
  store double 1.0, ptr %mine, align 8
  store ptr %mine, ptr %list, align 8
  %how = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  br i1 %skip, label %barrier, label %reduce
barrier:
  call void @__kmpc_barrier(ptr @where, i32 0)
  br label %reduce
reduce:
  store ptr %mine, ptr %list, align 8
  %again = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  ret void
}

; As clang makes it: combination by atomic operations, too, and the thread's number in memory.
define void @behind(ptr %number, ptr %sum) {
; CHECK-LABEL: define void @behind
; CHECK: atomicrmw
; CHECK: call void @__kmpc_end_reduce(
; CHECK-NOT: __kmpc_barrier
; CHECK-NOT: load
; CHECK: ret void
entry:
  %address = alloca ptr, align 8
  %mine = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  store ptr %number, ptr %address, align 8
  store ptr %mine, ptr %list, align 8
  %how = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  switch i32 %how, label %after [
    i32 1, label %one
    i32 2, label %atomically
  ]
one:
  call void @__kmpc_end_reduce(ptr @where, i32 0, ptr @lock)
  br label %after
atomically:
  %y = load double, ptr %mine, align 8
  %old = atomicrmw fadd ptr %sum, double %y monotonic, align 8
  call void @__kmpc_end_reduce(ptr @where, i32 0, ptr @lock)
  br label %after
after:
  call void @llvm.lifetime.end.p0(ptr %mine)
  %a = load ptr, ptr %address, align 8
  %n = load i32, ptr %a, align 4
  call void @__kmpc_barrier(ptr @where, i32 %n)
  ret void
}

; Something is loaded or stored in between.
define double @not_behind(ptr %sum) {
; CHECK-LABEL: define double @not_behind
; CHECK: call void @__kmpc_end_reduce(
; CHECK: load double, ptr %sum
; CHECK: call void @__kmpc_barrier
; CHECK: call void @__kmpc_end_reduce(
; CHECK: store double 0.000000e+00, ptr %sum
; CHECK: call void @__kmpc_barrier
; CHECK: ret double
entry:
  %list = alloca [1 x ptr], align 8
  %how = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  switch i32 %how, label %after [
    i32 1, label %one
    i32 2, label %one
  ]
one:
  call void @__kmpc_end_reduce(ptr @where, i32 0, ptr @lock)
  br label %after
after:
  %x = load double, ptr %sum, align 8
  call void @__kmpc_barrier(ptr @where, i32 0)
  %again = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  switch i32 %again, label %after_again [
    i32 1, label %one_again
    i32 2, label %one_again
  ]
one_again:
  call void @__kmpc_end_reduce(ptr @where, i32 0, ptr @lock)
  br label %after_again
after_again:
  store double 0.0, ptr %sum, align 8
  call void @__kmpc_barrier(ptr @where, i32 0)
  ret double %x
}

; Somebody comes there who has not waited: from elsewhere, by a result that stands for a combination, out of a reduction without a barrier.
define void @other_ways(ptr %sum, i1 %skip) {
; CHECK-LABEL: define void @other_ways
; CHECK: after:
; CHECK-NEXT: call void @__kmpc_barrier
; CHECK: after_two:
; CHECK-NEXT: call void @__kmpc_barrier
; CHECK: after_three:
; CHECK-NEXT: call void @__kmpc_barrier
; CHECK: ret void
entry:
  %list = alloca [1 x ptr], align 8
  br i1 %skip, label %after, label %reduce
reduce:
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
  %two = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  switch i32 %two, label %after_two [
    i32 1, label %one_two
  ]
one_two:
  call void @__kmpc_end_reduce(ptr @where, i32 0, ptr @lock)
  br label %after_two
after_two:
  call void @__kmpc_barrier(ptr @where, i32 0)
  %three = call i32 @__kmpc_reduce_nowait(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  switch i32 %three, label %after_three [
    i32 1, label %one_three
    i32 2, label %one_three
  ]
one_three:
  call void @__kmpc_end_reduce_nowait(ptr @where, i32 0, ptr @lock)
  br label %after_three
after_three:
  call void @__kmpc_barrier(ptr @where, i32 0)
  ret void
}

; The last construct of a region.
define internal void @region(ptr noalias %global, ptr noalias %bound, ptr %sum) {
; CHECK-LABEL: define internal void @region
; CHECK-NOT: __kmpc_barrier
; CHECK: call i32 @__kmpc_reduce_nowait(
; CHECK: call void @__kmpc_end_reduce_nowait(
; CHECK-NOT: __kmpc_barrier
; CHECK: ret void
entry:
  %mine = alloca double, align 8
  %list = alloca [1 x ptr], align 8
  store double 1.0, ptr %mine, align 8
  call void @__kmpc_barrier(ptr @where, i32 0)
  store ptr %mine, ptr %list, align 8
  %how = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  switch i32 %how, label %after [
    i32 1, label %one
    i32 2, label %atomically
  ]
atomically:
  unreachable
one:
  store double 2.0, ptr %sum, align 8
  call void @__kmpc_end_reduce(ptr @where, i32 0, ptr @lock)
  br label %after
after:
  call void @__kmpc_barrier(ptr @where, i32 0)
  br label %end
end:
  ret void
}

; It goes on.
define internal void @region_with_more(ptr noalias %global, ptr noalias %bound, ptr %sum) {
; CHECK-LABEL: define internal void @region_with_more
; CHECK: call i32 @__kmpc_reduce(
; CHECK: call void @__kmpc_end_reduce(
; CHECK: ret void
entry:
  %list = alloca [1 x ptr], align 8
  %how = call i32 @__kmpc_reduce(ptr @where, i32 0, i32 1, i64 8, ptr %list, ptr @combine, ptr @lock)
  switch i32 %how, label %after [
    i32 1, label %one
    i32 2, label %atomically
  ]
atomically:
  unreachable
one:
  call void @__kmpc_end_reduce(ptr @where, i32 0, ptr @lock)
  br label %after
after:
  call void @other()
  ret void
}

define void @forks(ptr %sum) {
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr @where, i32 1, ptr @region, ptr %sum)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr @where, i32 1, ptr @region_with_more, ptr %sum)
  ret void
}

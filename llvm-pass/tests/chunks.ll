; The kind of schedule says of loops in chunks that the program cannot tell which thread has which chunk: 33 and 1 << 28.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@table = global [100 x i32] zeroinitializer
@own = thread_local global i32 0
declare void @__kmpc_fork_call(ptr, i32, ptr, ...)
declare void @__kmpc_for_static_init_4(ptr, i32, i32, ptr, ptr, ptr, ptr, i32, i32)
declare void @__kmpc_for_static_fini(ptr, i32)
declare i32 @__kmpc_reduce_nowait(ptr, i32, i32, i64, ptr, ptr, ptr)
declare void @__kmpc_end_reduce_nowait(ptr, i32, ptr)
declare ptr @llvm.threadlocal.address.p0(ptr)

define void @regions(ptr %sum) {
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @independent)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @strided)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @counter)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @number)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @thread_local)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @triangular)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @atomic)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 0, ptr @effect_behind)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @reduced, ptr %sum)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr null, i32 1, ptr @partial_seen, ptr %sum)
  ret void
}

define internal void @independent(ptr %tid, ptr %bound) {
; CHECK-LABEL: define internal void @independent
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 268435489,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %least = load i32, ptr %upper, align 4
  %none = icmp sgt i32 %first, %least
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  store i32 %i, ptr %place, align 4
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  ret void
}

; Clang's code for `distribute parallel for schedule(static, 1)`, which does not look at the upper bound.
define internal void @strided(ptr %tid, ptr %bound) {
; CHECK-LABEL: define internal void @strided
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 33,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %none = icmp sgt i32 %first, 99
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  store i32 %i, ptr %place, align 4
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  ret void
}

; What the thread has executed before.
define internal void @counter(ptr %tid, ptr %bound) {
; CHECK-LABEL: define internal void @counter
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 33,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %least = load i32, ptr %upper, align 4
  %none = icmp sgt i32 %first, %least
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %count = phi i32 [ 0, %entry ], [ %counted, %chunk ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  store i32 %count, ptr %place, align 4
  %counted = add i32 %count, 1
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  ret void
}

define internal void @number(ptr %tid, ptr %bound) {
; CHECK-LABEL: define internal void @number
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 33,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %least = load i32, ptr %upper, align 4
  %none = icmp sgt i32 %first, %least
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  store i32 %thread, ptr %place, align 4
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  ret void
}

define internal void @thread_local(ptr %tid, ptr %bound) {
; CHECK-LABEL: define internal void @thread_local
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 33,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %least = load i32, ptr %upper, align 4
  %none = icmp sgt i32 %first, %least
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  %mine = call ptr @llvm.threadlocal.address.p0(ptr @own)
  %value = load i32, ptr %mine, align 4
  store i32 %value, ptr %place, align 4
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  ret void
}

; Later chunks have more work.
define internal void @triangular(ptr %tid, ptr %bound) {
; CHECK-LABEL: define internal void @triangular
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 33,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %least = load i32, ptr %upper, align 4
  %none = icmp sgt i32 %first, %least
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %latch ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  br label %inner
inner:
  %k = phi i32 [ 0, %chunk ], [ %k1, %inner ]
  %entry.k = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %k
  store i32 %k, ptr %entry.k, align 4
  %k1 = add nsw i32 %k, 1
  %again = icmp slt i32 %k, %i
  br i1 %again, label %inner, label %latch
latch:
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  ret void
}

; An iteration may wait for another one.
define internal void @atomic(ptr %tid, ptr %bound) {
; CHECK-LABEL: define internal void @atomic
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 33,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %least = load i32, ptr %upper, align 4
  %none = icmp sgt i32 %first, %least
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  %value = load atomic i32, ptr %place acquire, align 4
  store i32 %i, ptr %place, align 4
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  ret void
}

define internal void @effect_behind(ptr %tid, ptr %bound) {
; CHECK-LABEL: define internal void @effect_behind
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 33,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %least = load i32, ptr %upper, align 4
  %none = icmp sgt i32 %first, %least
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  store i32 %i, ptr %place, align 4
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  store i32 1, ptr @table, align 4
  ret void
}

define internal void @reduced(ptr %tid, ptr %bound, ptr %shared) {
; CHECK-LABEL: define internal void @reduced
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 268435489,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  %sum = alloca i32, align 4
  %list = alloca [1 x ptr], align 8
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %least = load i32, ptr %upper, align 4
  %none = icmp sgt i32 %first, %least
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %part = phi i32 [ 0, %entry ], [ %parts, %chunk ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  %value = load i32, ptr %place, align 4
  %parts = add i32 %part, %value
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  %total = phi i32 [ 0, %entry ], [ %parts, %chunk ]
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  store ptr %sum, ptr %list, align 8
  store i32 %total, ptr %sum, align 4
  %result = call i32 @__kmpc_reduce_nowait(ptr null, i32 %thread, i32 1, i64 8, ptr %list, ptr @combine, ptr null)
  switch i32 %result, label %exit [
    i32 1, label %one
    i32 2, label %each
  ]
one:
  %before = load i32, ptr %shared, align 4
  %after = add i32 %before, %total
  store i32 %after, ptr %shared, align 4
  call void @__kmpc_end_reduce_nowait(ptr null, i32 %thread, ptr null)
  br label %exit
each:
  %old = atomicrmw add ptr %shared, i32 %total monotonic, align 4
  br label %exit
exit:
  ret void
}

define internal void @partial_seen(ptr %tid, ptr %bound, ptr %shared) {
; CHECK-LABEL: define internal void @partial_seen
; CHECK: call void @__kmpc_for_static_init_4(ptr null, i32 %{{[a-z]+}}, i32 33,
entry:
  %last = alloca i32, align 4
  %lower = alloca i32, align 4
  %upper = alloca i32, align 4
  %stride = alloca i32, align 4
  %sum = alloca i32, align 4
  %list = alloca [1 x ptr], align 8
  store i32 0, ptr %lower, align 4
  store i32 99, ptr %upper, align 4
  store i32 1, ptr %stride, align 4
  store i32 0, ptr %last, align 4
  %thread = load i32, ptr %tid, align 4
  call void @__kmpc_for_static_init_4(ptr null, i32 %thread, i32 33, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
  %first = load i32, ptr %lower, align 4
  %step = load i32, ptr %stride, align 4
  %least = load i32, ptr %upper, align 4
  %none = icmp sgt i32 %first, %least
  br i1 %none, label %end, label %chunk
chunk:
  %i = phi i32 [ %first, %entry ], [ %next, %chunk ]
  %part = phi i32 [ 0, %entry ], [ %parts, %chunk ]
  %place = getelementptr inbounds [100 x i32], ptr @table, i32 0, i32 %i
  %value = load i32, ptr %place, align 4
  store i32 %part, ptr %place, align 4
  %parts = add i32 %part, %value
  %next = add nsw i32 %i, %step
  %more = icmp slt i32 %next, 100
  br i1 %more, label %chunk, label %end
end:
  %total = phi i32 [ 0, %entry ], [ %parts, %chunk ]
  call void @__kmpc_for_static_fini(ptr null, i32 %thread)
  store ptr %sum, ptr %list, align 8
  store i32 %total, ptr %sum, align 4
  %result = call i32 @__kmpc_reduce_nowait(ptr null, i32 %thread, i32 1, i64 8, ptr %list, ptr @combine, ptr null)
  switch i32 %result, label %exit [
    i32 1, label %one
    i32 2, label %each
  ]
one:
  %before = load i32, ptr %shared, align 4
  %after = add i32 %before, %total
  store i32 %after, ptr %shared, align 4
  call void @__kmpc_end_reduce_nowait(ptr null, i32 %thread, ptr null)
  br label %exit
each:
  %old = atomicrmw add ptr %shared, i32 %total monotonic, align 4
  br label %exit
exit:
  ret void
}

define internal void @combine(ptr %to, ptr %from) {
  %a = load ptr, ptr %to, align 8
  %b = load ptr, ptr %from, align 8
  %x = load i32, ptr %a, align 4
  %y = load i32, ptr %b, align 4
  %z = add i32 %x, %y
  store i32 %z, ptr %a, align 4
  ret void
}

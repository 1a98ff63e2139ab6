; The variable of an OpenMP loop is a bound and a counter without a sign: that the sum does not wrap follows from the conditions around the loop, and the
; check leaves it. Where they say less, it stays.
; OPTIONS: disable=single,version,guards
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @__kmpc_for_static_init_4u(ptr, i32, i32, ptr, ptr, ptr, ptr, i32, i32)
declare i32 @llvm.umax.i32(i32, i32)

; for (int i = low; i < high; i++)
define void @simd(ptr %a, i32 %low, i32 %high) {
; CHECK-LABEL: define void @simd
; CHECK: {{^}}loop:
; CHECK-NOT: load atomic
; CHECK: store double
; CHECK: ret void
entry:
  %count = sub i32 %high, %low
  %any = icmp slt i32 %low, %high
  br i1 %any, label %before, label %exit
before:
  br label %loop
loop:
  %k = phi i32 [ 0, %before ], [ %k.next, %loop ]
  %i = add i32 %k, %low
  %index = sext i32 %i to i64
  %p = getelementptr double, ptr %a, i64 %index
  store double 1.0, ptr %p
  %k.next = add nuw i32 %k, 1
  %done = icmp eq i32 %k.next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

; The same numbers compared without a sign: the sum may pass the greatest signed number.
define void @unsigned(ptr %a, i32 %low, i32 %high) {
; CHECK-LABEL: define void @unsigned
; CHECK: {{^}}loop:
; CHECK: load atomic
; CHECK: ret void
entry:
  %count = sub i32 %high, %low
  %any = icmp ult i32 %low, %high
  br i1 %any, label %before, label %exit
before:
  br label %loop
loop:
  %k = phi i32 [ 0, %before ], [ %k.next, %loop ]
  %i = add i32 %k, %low
  %index = sext i32 %i to i64
  %p = getelementptr double, ptr %a, i64 %index
  store double 1.0, ptr %p
  %k.next = add nuw i32 %k, 1
  %done = icmp eq i32 %k.next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

; The exit is at the end of the loop, which runs once at least: the number of iterations is 1 where the distance would be 0, which it is not.
define void @at_least_once(ptr %a, i32 %low, i32 %high) {
; CHECK-LABEL: define void @at_least_once
; CHECK: {{^}}loop:
; CHECK-NOT: load atomic
; CHECK: store double
; CHECK: ret void
entry:
  %distance = sub i32 %high, %low
  %count = call i32 @llvm.umax.i32(i32 %distance, i32 1)
  %any = icmp slt i32 %low, %high
  br i1 %any, label %before, label %exit
before:
  br label %loop
loop:
  %k = phi i32 [ 0, %before ], [ %k.next, %loop ]
  %i = add i32 %k, %low
  %index = sext i32 %i to i64
  %p = getelementptr double, ptr %a, i64 %index
  store double 1.0, ptr %p
  %k.next = add nuw i32 %k, 1
  %done = icmp eq i32 %k.next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

; The same without the condition: where the distance is 0 or negative, the last number is not known to be in range.
define void @at_least_once_unknown(ptr %a, i32 %low, i32 %high) {
; CHECK-LABEL: define void @at_least_once_unknown
; CHECK: {{^}}loop:
; CHECK: load atomic
; CHECK: ret void
entry:
  %distance = sub i32 %high, %low
  %count = call i32 @llvm.umax.i32(i32 %distance, i32 1)
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %k.next, %loop ]
  %i = add i32 %k, %low
  %index = sext i32 %i to i64
  %p = getelementptr double, ptr %a, i64 %index
  store double 1.0, ptr %p
  %k.next = add nuw i32 %k, 1
  %done = icmp eq i32 %k.next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

; One iteration more than the distance of the bounds.
define void @further(ptr %a, i32 %low, i32 %high) {
; CHECK-LABEL: define void @further
; CHECK: {{^}}loop:
; CHECK: load atomic
; CHECK: ret void
entry:
  %distance = sub i32 %high, %low
  %count = add i32 %distance, 2
  %any = icmp slt i32 %low, %high
  br i1 %any, label %before, label %exit
before:
  br label %loop
loop:
  %k = phi i32 [ 0, %before ], [ %k.next, %loop ]
  %i = add i32 %k, %low
  %index = sext i32 %i to i64
  %p = getelementptr double, ptr %a, i64 %index
  store double 1.0, ptr %p
  %k.next = add nuw i32 %k, 1
  %done = icmp eq i32 %k.next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

; for (int i = high; i > low; i -= 3), with the test whether the number of iterations wraps.
define void @down(ptr %a, i32 %low, i32 %high) {
; CHECK-LABEL: define void @down
; CHECK: {{^}}loop:
; CHECK-NOT: load atomic
; CHECK: store double
; CHECK: ret void
entry:
  %distance = sub i32 %high, %low
  %rounded = add i32 %distance, 2
  %any = icmp sgt i32 %high, %low
  %fits = icmp ugt i32 %rounded, 2
  %both = and i1 %any, %fits
  br i1 %both, label %before, label %exit
before:
  %count = udiv i32 %rounded, 3
  br label %loop
loop:
  %k = phi i32 [ 0, %before ], [ %k.next, %loop ]
  %steps = mul i32 %k, -3
  %i = add i32 %steps, %high
  %index = sext i32 %i to i64
  %p = getelementptr double, ptr %a, i64 %index
  store double 1.0, ptr %p
  %k.next = add nuw i32 %k, 1
  %done = icmp eq i32 %k.next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

; Without that test.
define void @down_unknown(ptr %a, i32 %low, i32 %high) {
; CHECK-LABEL: define void @down_unknown
; CHECK: {{^}}loop:
; CHECK: load atomic
; CHECK: ret void
entry:
  %distance = sub i32 %high, %low
  %rounded = add i32 %distance, 2
  %any = icmp sgt i32 %high, %low
  br i1 %any, label %before, label %exit
before:
  %count = udiv i32 %rounded, 3
  br label %loop
loop:
  %k = phi i32 [ 0, %before ], [ %k.next, %loop ]
  %steps = mul i32 %k, -3
  %i = add i32 %steps, %high
  %index = sext i32 %i to i64
  %p = getelementptr double, ptr %a, i64 %index
  store double 1.0, ptr %p
  %k.next = add nuw i32 %k, 1
  %done = icmp eq i32 %k.next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

; A thread's part of a worksharing loop.
define void @static(ptr %a, i32 %low, i32 %high, ptr %loc) {
; CHECK-LABEL: define void @static
; CHECK: {{^}}loop:
; CHECK-NOT: load atomic
; CHECK: store double
; CHECK: ret void
entry:
  %lower = alloca i32
  %upper = alloca i32
  %step = alloca i32
  %is.last = alloca i32
  %any = icmp slt i32 %low, %high
  br i1 %any, label %construct, label %exit
construct:
  %below = xor i32 %low, -1
  %last = add i32 %high, %below
  store i32 0, ptr %lower
  store i32 %last, ptr %upper
  store i32 1, ptr %step
  store i32 0, ptr %is.last
  call void @__kmpc_for_static_init_4u(ptr %loc, i32 0, i32 34, ptr %is.last, ptr %lower, ptr %upper, ptr %step, i32 1, i32 1)
  %given = load i32, ptr %upper
  %end = call i32 @llvm.umin.i32(i32 %given, i32 %last)
  %first = load i32, ptr %lower
  %behind = add i32 %end, 1
  %some = icmp ult i32 %first, %behind
  br i1 %some, label %before, label %exit
before:
  br label %loop
loop:
  %k = phi i32 [ %first, %before ], [ %k.next, %loop ]
  %i = add i32 %k, %low
  %index = sext i32 %i to i64
  %p = getelementptr double, ptr %a, i64 %index
  store double 1.0, ptr %p
  %k.next = add nuw i32 %k, 1
  %done = icmp eq i32 %k, %end
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

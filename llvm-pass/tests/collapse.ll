; A worksharing loop over rows and columns becomes a nest, whose inner loop walks a row: one check for it, and no division in it.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @__kmpc_for_static_init_8(ptr, i32, i32, ptr, ptr, ptr, ptr, i64, i64)
declare void @__kmpc_for_static_fini(ptr, i32)

define void @rows(ptr %a, i64 %columns, i64 %stride, i64 %last, ptr %loc) {
; CHECK-LABEL: define void @rows
; CHECK: icmp sgt i64 %columns, 0
; CHECK: sdiv i64 [[FIRST:%.*]], %columns
; CHECK: {{^}}loop.outer:
; CHECK-NOT: div
; CHECK: load i64, ptr %dsm.window
; CHECK-NOT: div
; CHECK: {{^}}loop:
; CHECK-NOT: load atomic
; CHECK-NOT: div
; CHECK: store double 1.000000e+00
; CHECK: {{^}}loop.outer.latch:
; CHECK: br i1
entry:
  %lower = alloca i64
  %upper = alloca i64
  %step = alloca i64
  %is.last = alloca i32
  store i64 0, ptr %lower
  store i64 %last, ptr %upper
  store i64 1, ptr %step
  store i32 0, ptr %is.last
  call void @__kmpc_for_static_init_8(ptr %loc, i32 0, i32 34, ptr %is.last, ptr %lower, ptr %upper, ptr %step, i64 1, i64 1)
  %first = load i64, ptr %lower
  %end = load i64, ptr %upper
  %none = icmp sgt i64 %first, %end
  br i1 %none, label %exit, label %loop
loop:
  %k = phi i64 [ %first, %entry ], [ %k.next, %loop ]
  %i = sdiv i64 %k, %columns
  %j = srem i64 %k, %columns
  %row = mul nsw i64 %i, %stride
  %at = add nsw i64 %row, %j
  %p = getelementptr inbounds double, ptr %a, i64 %at
  store double 1.0, ptr %p
  %k.next = add nsw i64 %k, 1
  %done = icmp eq i64 %k, %end
  br i1 %done, label %exit, label %loop
exit:
  call void @__kmpc_for_static_fini(ptr %loc, i32 0)
  ret void
}

; Nothing is known of where the counter begins.
define void @any_start(ptr %a, i64 %first, i64 %end, i64 %columns) {
; CHECK-LABEL: define void @any_start
; CHECK: loop:
; CHECK: sdiv
; CHECK: ret void
entry:
  br label %loop
loop:
  %k = phi i64 [ %first, %entry ], [ %k.next, %loop ]
  %i = sdiv i64 %k, %columns
  %p = getelementptr inbounds double, ptr %a, i64 %i
  store double 1.0, ptr %p
  %k.next = add nsw i64 %k, 1
  %done = icmp eq i64 %k, %end
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

; Powers of two, without a sign: an inner loop of 64 iterations.
define void @powers(ptr %a, ptr %loc, i32 %last) {
; CHECK-LABEL: define void @powers
; CHECK: {{^}}loop.outer:
; CHECK-NOT: lshr i32
; CHECK: {{^}}loop:
; CHECK-NOT: load atomic
; CHECK-NOT: lshr i32
; CHECK: store double 2.000000e+00
; CHECK: ret void
entry:
  %lower = alloca i32
  %upper = alloca i32
  %step = alloca i32
  %is.last = alloca i32
  store i32 0, ptr %lower
  store i32 %last, ptr %upper
  store i32 1, ptr %step
  store i32 0, ptr %is.last
  call void @__kmpc_for_static_init_4u(ptr %loc, i32 0, i32 34, ptr %is.last, ptr %lower, ptr %upper, ptr %step, i32 1, i32 1)
  %first = load i32, ptr %lower
  %end = load i32, ptr %upper
  %none = icmp ugt i32 %first, %end
  br i1 %none, label %exit, label %loop
loop:
  %k = phi i32 [ %first, %entry ], [ %k.next, %loop ]
  %i = lshr i32 %k, 6
  %j = and i32 %k, 63
  %wide.i = zext i32 %i to i64
  %wide.j = zext i32 %j to i64
  %p = getelementptr inbounds [100 x double], ptr %a, i64 %wide.i, i64 %wide.j
  store double 2.0, ptr %p
  %k.next = add nuw i32 %k, 1
  %done = icmp eq i32 %k, %end
  br i1 %done, label %exit, label %loop
exit:
  call void @__kmpc_for_static_fini(ptr %loc, i32 0)
  ret void
}

declare void @__kmpc_for_static_init_4u(ptr, i32, i32, ptr, ptr, ptr, ptr, i32, i32)

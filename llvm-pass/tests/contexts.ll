; Switches of contexts go through the runtime and may synchronise; where control comes back by itself, the shared stack is put right.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@a = global [968 x i8] zeroinitializer, align 8
@b = global [968 x i8] zeroinitializer, align 8
@x = global i32 0
declare i32 @swapcontext(ptr, ptr)
declare void @makecontext(ptr, ptr, i32, ...)
declare i32 @getcontext(ptr) #0
declare void @body()

define i32 @switch() {
; CHECK-LABEL: define i32 @switch
; CHECK: load atomic i8
; CHECK: load i32, ptr @x
; CHECK: call i32 @__dsm_swapcontext(ptr @a, ptr @b)
; CHECK: load atomic i8
; CHECK: load i32, ptr @x
; CHECK: call void (ptr, ptr, i32, ...) @__dsm_makecontext(ptr @a, ptr @body, i32 0)
  %before = load i32, ptr @x
  %s = call i32 @swapcontext(ptr @a, ptr @b)
  %after = load i32, ptr @x
  call void (ptr, ptr, i32, ...) @makecontext(ptr @a, ptr @body, i32 0)
  %sum = add i32 %before, %after
  ret i32 %sum
}
define void @come_back() {
; CHECK-LABEL: define void @come_back
; CHECK: %[[SP:.*]] = load ptr, ptr %[[PLACE:.*]], align 8
; CHECK: call i32 @getcontext(ptr @a)
; CHECK-NEXT: store ptr %[[SP]], ptr %[[PLACE]]
; CHECK: call void @__dsm_store_range(ptr @a, i64 968)
  %s = call i32 @getcontext(ptr @a) #0
  ret void
}
attributes #0 = { returns_twice }

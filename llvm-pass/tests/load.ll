; A load that may be shared is checked: one state byte with acquire order, a rare call.
; OPTIONS: line=10
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @f(ptr %p) {
; CHECK-LABEL: define i32 @f
; CHECK: %[[A:.*]] = ptrtoint ptr %p to i64
; CHECK: %[[L:.*]] = lshr i64 %[[A]], 10
; CHECK: %[[N:.*]] = add i64 %[[L]], 1879048192
; CHECK: %[[S:.*]] = inttoptr i64 %[[N]] to ptr
; CHECK: %[[B:.*]] = load atomic i8, ptr %[[S]] acquire, align 1
; CHECK: %[[C:.*]] = icmp uge i8 %[[B]], 2
; CHECK: br i1 %[[C]], label %[[MISS:.*]], label %[[TAIL:.*]], !prof
; CHECK: [[TAIL]]:
; CHECK-NEXT: load i32, ptr %p
; CHECK: [[MISS]]:
; CHECK-NEXT: call void @__dsm_load_miss(ptr %p, i64 4)
; CHECK-NEXT: br label %[[TAIL]]
  %v = load i32, ptr %p, align 4
  ret i32 %v
}
; CHECK: declare void @__dsm_load_miss(ptr, i64) #[[ATTR:[0-9]+]]
; CHECK: attributes #[[ATTR]] = { cold nocallback nounwind willreturn }
; CHECK: branch_weights", i32 1, i32 1000000

; A local function whose callers check what every call of it touches has no checks; the loop's check leaves the loop.
; OPTIONS: line=10
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; The acquiring checks of the callers must stay in front of the call.
; CHECK: define internal void @add(ptr %x, ptr %y) [[EFFECTS:#[0-9]+]]
; CHECK-NOT: dsm
; CHECK: ret void
define internal void @add(ptr %x, ptr %y) #0 {
  %a = load double, ptr %x, align 8
  %p = getelementptr i8, ptr %y, i64 16
  %b = load double, ptr %p, align 8
  %s = fadd double %a, %b
  store double %s, ptr %x, align 8
  ret void
}

define void @caller(ptr %x, ptr %y, i64 %n) {
; CHECK-LABEL: define void @caller
; CHECK: loop:
; CHECK-NOT: dsm
; CHECK: call void @add
; CHECK: exit:
; CHECK: call void @__dsm_store_range(ptr %x, i64
; CHECK: call void @__dsm_load_range(ptr
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  %q = getelementptr double, ptr %y, i64 %i
  call void @add(ptr %p, ptr %q)
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; Not where others can call it.
define internal void @open(ptr %x) {
; CHECK-LABEL: define internal void @open
; CHECK: call void @__dsm_store_miss
  store double 1.0, ptr %x, align 8
  ret void
}
@table = internal constant ptr @open
define void @caller_of_open(ptr %x, i64 %n) {
; CHECK-LABEL: define void @caller_of_open
; CHECK: call void @open
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  %f = load ptr, ptr @table
  call void @open(ptr %p)
  call void %f(ptr %p)
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}


; Loops that run a constant number of times.
; CHECK-LABEL: define internal double @sum
; CHECK-NOT: dsm
; CHECK: ret double
define internal double @sum(ptr %x) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p, align 8
  %t = fadd double %s, %v
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, 7
  br i1 %more, label %loop, label %exit
exit:
  ret double %t
}
define double @caller_of_sum(ptr %x, i64 %n) {
; CHECK-LABEL: define double @caller_of_sum
; CHECK: loop:
; CHECK-NOT: dsm
; CHECK: exit:
; CHECK: call void @__dsm_load_range(ptr %x, i64
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = call double @sum(ptr %p)
  %t = fadd double %s, %v
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret double %t
}

; CHECK: attributes [[EFFECTS]] = { nounwind }
attributes #0 = { nounwind memory(argmem: readwrite) }

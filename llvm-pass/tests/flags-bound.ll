; A volatile bound that a loop counts up to is no flag; one that it waits for is, also with a limit to the number of tries.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@bound = global i64 0
@other = global i64 0
@flag = global i64 0

; CHECK-LABEL: define i64 @counted
; CHECK: load volatile i64, ptr @bound
; CHECK-NOT: __dsm_atomic
; CHECK: ret
define i64 @counted(ptr %p) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  %n = load volatile i64, ptr @bound
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %end
end:
  ret i64 %j
}

; CHECK-LABEL: define i64 @counted_in_memory
; CHECK: load volatile i64, ptr @other
; CHECK-NOT: __dsm_atomic
; CHECK: ret
define i64 @counted_in_memory() {
entry:
  %i = alloca i64
  store i64 0, ptr %i
  br label %loop
loop:
  %a = load i64, ptr %i
  %b = add i64 %a, 1
  store i64 %b, ptr %i
  %c = load i64, ptr %i
  %n = load volatile i64, ptr @other
  %more = icmp slt i64 %c, %n
  br i1 %more, label %loop, label %end
end:
  ret i64 %b
}

; CHECK-LABEL: define void @awaited
; CHECK: __dsm_atomic
; CHECK: ret
define void @awaited(i64 %ticket) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %j = add i64 %i, 1
  %v = load volatile i64, ptr @flag
  %there = icmp eq i64 %v, %ticket
  br i1 %there, label %end, label %next
next:
  %more = icmp slt i64 %j, 1000
  br i1 %more, label %loop, label %end
end:
  ret void
}

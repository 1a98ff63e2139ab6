; Remarks in the compiler's own form: what was hoisted, what has two versions, what stays and why.
; STDERR
; PIPELINE: dsm
; OPT: -pass-remarks=dsm -pass-remarks-missed=dsm -pass-remarks-analysis=dsm
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@p = external global [1000 x i64], align 16

; CHECK-DAG: remark: {{.*}}load of 8 bytes: checked in front of the loop
; CHECK-DAG: remark: {{.*}}store of 8 bytes of p: no check in the first of two versions of the loop
; CHECK-DAG: remark: {{.*}}load of 8 bytes{{.*}}: checked in every iteration: its address is no linear function of the iteration
; CHECK-DAG: remark: {{.*}}2 accesses to memory that may be shared: 1 checked per element unless all that they can touch is valid before the loop, 1 checked once in front of the outermost loop; because its address is no linear function of the iteration; what would help: a subscript
; CHECK-DAG: remark: {{.*}}1 access to memory that may be shared: 1 checked per element; because its address is no linear function
; CHECK-DAG: remark: {{.*}}ranges that are overwritten, and not fetched: 1
define void @f(ptr %index, i64 %n, ptr %list) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %at = getelementptr inbounds i64, ptr %index, i64 %i
  %k = load i64, ptr %at, align 8
  %q = getelementptr inbounds i64, ptr @p, i64 %k
  store i64 0, ptr %q, align 8
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %walk
walk:
  %node = phi ptr [ %list, %loop ], [ %next, %walk ]
  %c = phi i64 [ 0, %loop ], [ %c1, %walk ]
  %next = load ptr, ptr %node, align 8
  %c1 = add nuw nsw i64 %c, 1
  %again = icmp slt i64 %c1, %n
  br i1 %again, label %walk, label %exit
exit:
  ret void
}

define void @g(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %q = getelementptr inbounds i64, ptr @p, i64 %i
  store i64 0, ptr %q, align 8
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

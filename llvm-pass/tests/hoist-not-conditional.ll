; Must not hoist: a store that only some iterations make would mark what is not written.
; OPTIONS: disable=version,single,footprint
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %p, ptr %c, i64 %n) {
; CHECK-LABEL: define void @f
; CHECK: then:
; CHECK: icmp ne i8 %{{.*}}, 0
; CHECK: store i32 1
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %cq = getelementptr inbounds i8, ptr %c, i64 %i
  %b = load i8, ptr %cq, align 1
  %take = icmp ne i8 %b, 0
  br i1 %take, label %then, label %next
then:
  %q = getelementptr inbounds i32, ptr %p, i64 %i
  store i32 1, ptr %q, align 4
  br label %next
next:
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; A check in front of a loop depends on what an earlier loop computes, which gets two versions: the value behind it is that of either.
; OPTIONS: line=10
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@table = global [1000 x ptr] zeroinitializer

define double @row(ptr %index, i64 %n, i64 %m) {
; CHECK-LABEL: define double @row
; CHECK: call i32 @__dsm_load_ready(ptr @table
; CHECK: %p.lcssa = phi ptr
; CHECK: freeze ptr %p.lcssa
; CHECK: call void @__dsm_load_range(ptr
entry:
  br label %walk
walk:
  %i = phi i64 [ 0, %entry ], [ %i.next, %walk ]
  %ip = getelementptr i64, ptr %index, i64 %i
  %at = load i64, ptr %ip, align 8
  %pp = getelementptr [1000 x ptr], ptr @table, i64 0, i64 %at
  %p = load ptr, ptr %pp, align 8
  %i.next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %i.next, %n
  br i1 %more, label %walk, label %behind
behind:
  br label %sum
sum:
  %j = phi i64 [ 0, %behind ], [ %j.next, %sum ]
  %s = phi double [ 0.0, %behind ], [ %t, %sum ]
  %q = getelementptr double, ptr %p, i64 %j
  %v = load double, ptr %q, align 8
  %t = fadd double %s, %v
  %j.next = add nuw nsw i64 %j, 1
  %again = icmp ult i64 %j.next, %m
  br i1 %again, label %sum, label %end
end:
  ret double %t
}

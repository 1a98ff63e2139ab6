; Loops that are left by what they find are executed in strips: so many iterations as surely stay in lines that allow, without checks; a few with checks if there are not enough of them. Jobs of one process have the loop as it was.
; OPTIONS: line=12
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; A search forwards. The strip has as many iterations as the rest of the line has elements, unless there are fewer than four.
define ptr @forwards(ptr %s, i32 %x) {
; CHECK-LABEL: define ptr @forwards
; CHECK: %[[ONE:.*]] = icmp ne i32 %{{.*}}, 0
; CHECK: br i1 %[[ONE]], label %{{.*}}, label %[[SEVERAL:.*]]
; CHECK: [[SEVERAL]]:
; CHECK: br label %[[FRONT:.*]]
; CHECK: [[FRONT]]:
; CHECK: %[[AT:p.dsm.strip]] = phi ptr [ %s, %[[SEVERAL]] ], [ %q.dsm, %[[BACK:.*]] ], [ %q.dsm.dsm, %[[BACK2:.*]] ]
; CHECK: freeze ptr %[[AT]]
; CHECK: load atomic i8
; CHECK: %[[END:.*]] = or i64 %{{.*}}, 4095
; CHECK: %[[REST:.*]] = sub i64 %[[END]], %{{.*}}
; CHECK: %[[N:.*]] = lshr i64 %[[REST]], 2
; CHECK: icmp slt i64 %[[REST]], 0
; CHECK: icmp ult i64 %[[N]], 3
; CHECK: %[[MORE:.*]] = add i64 %[[N]], 1
; CHECK: %[[LEFT:.*]] = select i1 %{{.*}}, i64 %[[MORE]], i64 16
; CHECK: loop.dsm.dsm:
; CHECK: load atomic i8
; CHECK: [[BACK2]]:
; CHECK: br i1 %{{.*}}, label %[[FRONT]], label %loop.dsm.dsm
; CHECK: loop.dsm:
; CHECK: %p.dsm = phi ptr [ %[[AT]],
; CHECK: %dsm.left = phi i64 [ %[[LEFT]],
; CHECK-NOT: load atomic
; CHECK: load i32, ptr %p.dsm
; CHECK: [[BACK]]:
; CHECK: br i1 %{{.*}}, label %[[FRONT]], label %loop.dsm
; CHECK: loop:
; CHECK-NOT: dsm.left
; CHECK-NOT: load atomic
; CHECK: ret ptr
entry:
  br label %loop
loop:
  %p = phi ptr [ %s, %entry ], [ %q, %next ]
  %c = load i32, ptr %p, align 4
  %z = icmp eq i32 %c, %x
  br i1 %z, label %exit, label %next
next:
  %q = getelementptr i8, ptr %p, i64 4
  br label %loop
exit:
  ret ptr %p
}

; A subscript of 32 bits that a condition advances, and one that counts down.
define i32 @subscripts(ptr %a, ptr %b, i32 %n) {
; CHECK-LABEL: define i32 @subscripts
; CHECK: %i.dsm.strip = phi i32
; CHECK: %j.dsm.strip = phi i64
; CHECK-DAG: sext i32 %{{.*}} to i64
; CHECK-DAG: mul i64 %{{.*}}, 4
; CHECK-DAG: and i64 %{{.*}}, 4095
; CHECK: loop.dsm.dsm:
; CHECK: loop.dsm:
; CHECK-NOT: load atomic
; CHECK: loop:
; CHECK-NOT: load atomic
; CHECK: ret i32
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %next ]
  %j = phi i64 [ 1000, %entry ], [ %j1, %next ]
  %wide = sext i32 %i to i64
  %p = getelementptr i32, ptr %a, i64 %wide
  %v = load i32, ptr %p, align 4
  %q = getelementptr i32, ptr %b, i64 %j
  %w = load i32, ptr %q, align 4
  %z = icmp eq i32 %w, %n
  br i1 %z, label %exit, label %next
next:
  %less = icmp slt i32 %v, %w
  %one = zext i1 %less to i32
  %i1 = add nsw i32 %i, %one
  %j1 = add i64 %j, -1
  br label %loop
exit:
  ret i32 %i
}

; Nothing bounds what a subscript advances that may wrap before it is extended, nor a list; nor are there strips where another access has no bounds.
define i32 @others(ptr %a, ptr %l, i32 %n) {
; CHECK-LABEL: define i32 @others
; CHECK-NOT: strip
; CHECK: ret i32
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %next ]
  %wide = sext i32 %i to i64
  %p = getelementptr i32, ptr %a, i64 %wide
  %v = load i32, ptr %p, align 4
  %z = icmp eq i32 %v, %n
  br i1 %z, label %second, label %next
next:
  %i1 = add i32 %i, %v
  br label %loop
second:
  %q = phi ptr [ %l, %loop ], [ %q1, %second ]
  %k = phi ptr [ %a, %loop ], [ %k1, %second ]
  %q1 = load ptr, ptr %q, align 8
  %w = load i32, ptr %k, align 4
  %k1 = getelementptr i8, ptr %k, i64 4
  %more = icmp ne i32 %w, %n
  br i1 %more, label %second, label %exit
exit:
  ret i32 %i
}

; Addresses that the program computes as integers: one check in front of the loop, of the pointers that the integers become.
; OPTIONS: disable=single
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; The base is converted in front of the loop, an offset counts in it.
define double @offset(ptr %a, i64 %n) {
; CHECK-LABEL: define double @offset
; CHECK: load volatile i64
; CHECK: {{^}}loop:
; CHECK-NOT: load {{atomic|volatile}}
; CHECK: ret double
; CHECK: call void @__dsm_load_range(ptr %a
entry:
  %base = ptrtoint ptr %a to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %offset = phi i64 [ 0, %entry ], [ %offset.next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %sum.next, %loop ]
  %address = add i64 %offset, %base
  %p = inttoptr i64 %address to ptr
  %x = load double, ptr %p
  %sum.next = fadd double %sum, %x
  %offset.next = add i64 %offset, 8
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret double %sum.next
}

; The address itself counts, and the second field is a constant away from it.
define void @walk(ptr %a, i64 %n) {
; CHECK-LABEL: define void @walk
; CHECK: load volatile i64
; CHECK: {{^}}loop:
; CHECK-NOT: load {{atomic|volatile}}
; CHECK: ret void
; CHECK: call void @__dsm_overwrite_range(ptr %a
entry:
  %first = ptrtoint ptr %a to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %address = phi i64 [ %first, %entry ], [ %address.next, %loop ]
  %p = inttoptr i64 %address to ptr
  store double 1.0, ptr %p
  %q = getelementptr i8, ptr %p, i64 8
  store double 2.0, ptr %q
  %address.next = add i64 %address, 16
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

; Nothing is known of an integer that is loaded.
define double @loaded(ptr %table, i64 %n) {
; CHECK-LABEL: define double @loaded
; CHECK: {{^}}loop:
; CHECK: load i64
; CHECK: load atomic i8
; CHECK: load double
; CHECK: ret double
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop.end ]
  %sum = phi double [ 0.0, %entry ], [ %sum.next, %loop.end ]
  %at = getelementptr i64, ptr %table, i64 %i
  %address = load i64, ptr %at
  %p = inttoptr i64 %address to ptr
  %x = load double, ptr %p
  br label %loop.end
loop.end:
  %sum.next = fadd double %sum, %x
  %i.next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret double %sum.next
}

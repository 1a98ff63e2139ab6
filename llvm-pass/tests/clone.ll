; A function that others may call is copied for the calls of the module that can check for it, or that pass private memory.
; OPTIONS: line=10
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @set(ptr %x) {
; CHECK-LABEL: define void @set
; CHECK: call void @__dsm_store_miss
  store double 1.0, ptr %x, align 8
  ret void
}

define void @shared(ptr %x, i64 %n) {
; CHECK-LABEL: define void @shared
; CHECK: loop:
; CHECK: call void @set.dsm
; CHECK: exit:
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  call void @set(ptr %p)
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  call void @set(ptr %x)
; CHECK: call void @set(ptr %x)
  ret void
}

define double @private(i64 %n) {
; CHECK-LABEL: define double @private
; CHECK: call void @set.dsm
entry:
  %own = alloca double, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void @set(ptr %own)
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  %v = load double, ptr %own, align 8
  ret double %v
}

; CHECK: define internal void @set.dsm(ptr
; CHECK-NOT: __dsm
; CHECK: ret void
; CHECK: define internal void @set.dsm{{.*}}(ptr
; CHECK-NOT: __dsm
; CHECK: ret void

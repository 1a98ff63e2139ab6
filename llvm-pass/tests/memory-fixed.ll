; Copies and sets of a length that is known are loads and stores of so many bytes: merged, and hoisted out of loops. Long ones are asked for
; as ranges that are overwritten.
; STDERR
; OPTIONS: line=10;plan=-
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @merged(ptr %p) {
; CHECK-LABEL: function merged
; CHECK: #0 store 8: checked
; CHECK: #2 store 16: merged into #0
; CHECK: check #0 store ends [+0, 32) for 2
  store double 1.0, ptr %p, align 8
  %q = getelementptr i8, ptr %p, i64 16
  call void @llvm.memset.p0.i64(ptr align 8 %q, i8 0, i64 16, i1 false)
  ret void
}

define void @hoisted(ptr noalias %to, ptr noalias %from, i64 %n) {
; CHECK-LABEL: function hoisted
; CHECK: load 40: hoisted before loop 0
; CHECK: store 40: hoisted before loop 0
; CHECK: loop 0 load range
; CHECK: loop 0 store range {{.*}} for 1, overwritten{{$}}
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %offset = mul nuw nsw i64 %i, 40
  %t = getelementptr inbounds i8, ptr %to, i64 %offset
  %f = getelementptr inbounds i8, ptr %from, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %t, ptr align 8 %f, i64 40, i1 false)
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; Rows that may be the same are not overwritten before they are read.
define void @aliased(ptr %to, ptr %from, i64 %n) {
; CHECK-LABEL: function aliased
; CHECK: loop 0 store range {{.*}} for 1, overwritten apart from
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %offset = mul nuw nsw i64 %i, 40
  %t = getelementptr inbounds i8, ptr %to, i64 %offset
  %f = getelementptr inbounds i8, ptr %from, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %t, ptr align 8 %f, i64 40, i1 false)
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

define void @long(ptr %p) {
; CHECK-LABEL: function long
; CHECK: range #0 store arg0 8000 bytes, overwritten
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 8000, i1 false)
  ret void
}

define void @none(ptr %p) {
; CHECK-LABEL: function none
; CHECK-NOT: #0
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 0, i1 false)
  ret void
}

; The operation that a loop around a compare-and-swap becomes acquires what the load in the loop acquires, or the compare-and-swap where it fails.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i64 @loaded(ptr %p) {
; CHECK-LABEL: define i64 @loaded
; CHECK-NOT: __dsm_atomic_load
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr %{{.*}}, ptr %{{.*}}, i32 8, i32 1, i32 2)
; CHECK: ret i64
; CHECK: atomicrmw add ptr %p, i64 7 acquire, align 8
entry:
  br label %loop
loop:
  %old = load atomic i64, ptr %p acquire, align 8
  %new = add i64 %old, 7
  %pair = cmpxchg weak ptr %p, i64 %old, i64 %new monotonic monotonic, align 8
  %done = extractvalue { i64, i1 } %pair, 1
  br i1 %done, label %exit, label %loop
exit:
  ret i64 %old
}
define i64 @loaded_in_order(ptr %p) {
; CHECK-LABEL: define i64 @loaded_in_order
; CHECK: atomicrmw add ptr %p, i64 7 seq_cst, align 8
entry:
  br label %loop
loop:
  %old = load atomic i64, ptr %p seq_cst, align 8
  %new = add i64 %old, 7
  %pair = cmpxchg weak ptr %p, i64 %old, i64 %new release monotonic, align 8
  %done = extractvalue { i64, i1 } %pair, 1
  br i1 %done, label %exit, label %loop
exit:
  ret i64 %old
}
define i64 @failed(ptr %p) {
; CHECK-LABEL: define i64 @failed
; CHECK: atomicrmw add ptr %p, i64 7 acq_rel, align 8
entry:
  %first = load atomic i64, ptr %p monotonic, align 8
  br label %loop
loop:
  %old = phi i64 [ %first, %entry ], [ %seen, %loop ]
  %new = add i64 %old, 7
  %pair = cmpxchg weak ptr %p, i64 %old, i64 %new release acquire, align 8
  %seen = extractvalue { i64, i1 } %pair, 0
  %done = extractvalue { i64, i1 } %pair, 1
  br i1 %done, label %exit, label %loop
exit:
  ret i64 %old
}

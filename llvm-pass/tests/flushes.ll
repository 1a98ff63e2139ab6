; A flush behind an atomic operation that becomes a call is left out where that is a release and an acquire; a load leaves the acquire to its flush.
; PIPELINE: dsm-early,dsm
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@where = external constant i8

declare void @__kmpc_flush(ptr)
declare void @other()

define void @both(ptr %p, i64 %x) {
; CHECK-LABEL: define void @both
; CHECK-NOT: __kmpc_flush
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr %{{.*}}, ptr null, i32 8, i32 1, i32 5)
; CHECK-NOT: __kmpc_flush
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr %{{.*}}, ptr null, i32 8, i32 1, i32 4)
; CHECK-NOT: __kmpc_flush
; CHECK: call void @__dsm_atomic_store(ptr %p, ptr %{{.*}}, i32 8, i32 5)
; CHECK-NOT: __kmpc_flush
; CHECK: ret void
  %a = atomicrmw add ptr %p, i64 %x seq_cst
  call void @__kmpc_flush(ptr @where)
  %b = atomicrmw add ptr %p, i64 %x acq_rel
  call void @__kmpc_flush(ptr @where)
  store atomic i64 %x, ptr %p seq_cst, align 8
  call void @__kmpc_flush(ptr @where)
  ret void
}

; A directive behind the construct.
define void @one_of_two(ptr %p, i64 %x) {
; CHECK-LABEL: define void @one_of_two
; CHECK: call void @__dsm_atomic_store
; CHECK: call void @__kmpc_flush
; CHECK-NOT: __kmpc_flush
; CHECK: ret void
  store atomic i64 %x, ptr %p seq_cst, align 8
  call void @__kmpc_flush(ptr @where)
  call void @__kmpc_flush(ptr @where)
  ret void
}

define i64 @loads(ptr %p) {
; CHECK-LABEL: define i64 @loads
; CHECK: call void @__dsm_atomic_load(ptr %p, ptr %{{.*}}, i32 8, i32 0)
; CHECK: call void @__kmpc_flush
; CHECK: call void @__dsm_atomic_load(ptr %p, ptr %{{.*}}, i32 8, i32 0)
; CHECK: call void @__kmpc_flush
; CHECK: call void @__dsm_atomic_load(ptr %p, ptr %{{.*}}, i32 8, i32 5)
; CHECK: call void @other
; CHECK: call void @__kmpc_flush
; CHECK: ret i64
  %a = load atomic i64, ptr %p seq_cst, align 8
  call void @__kmpc_flush(ptr @where)
  %b = load atomic i64, ptr %p acquire, align 8
  %c = add i64 %a, %b
  call void @__kmpc_flush(ptr @where)
  %d = load atomic i64, ptr %p seq_cst, align 8
  call void @other()
  call void @__kmpc_flush(ptr @where)
  %e = add i64 %c, %d
  ret i64 %e
}

; What does less, or something else in between.
define void @not(ptr %p, ptr %q, i64 %x) {
; CHECK-LABEL: define void @not
; CHECK: call void @__dsm_atomic_store(ptr %p, ptr %{{.*}}, i32 8, i32 3)
; CHECK: call void @__kmpc_flush
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr %{{.*}}, ptr null, i32 8, i32 1, i32 2)
; CHECK: call void @__kmpc_flush
; CHECK: call void @__dsm_atomic_store(ptr %p, ptr %{{.*}}, i32 8, i32 5)
; CHECK: store double 0.000000e+00, ptr %q
; CHECK: call void @__kmpc_flush
; CHECK: call i32 @__dsm_atomic_cas
; CHECK: call void @__kmpc_flush
; CHECK: atomicrmw add ptr %local
; CHECK: call void @__kmpc_flush
; CHECK: ret void
  %local = alloca i64, align 8
  store i64 0, ptr %local, align 8
  store atomic i64 %x, ptr %p release, align 8
  call void @__kmpc_flush(ptr @where)
  %a = atomicrmw add ptr %p, i64 %x acquire
  call void @__kmpc_flush(ptr @where)
  store atomic i64 %x, ptr %p seq_cst, align 8
  store double 0.0, ptr %q, align 8
  call void @__kmpc_flush(ptr @where)
  %b = cmpxchg ptr %p, i64 %x, i64 0 seq_cst monotonic
  call void @__kmpc_flush(ptr @where)
  %c = atomicrmw add ptr %local, i64 %x seq_cst
  call void @__kmpc_flush(ptr @where)
  ret void
}

; Behind a loop that nothing else leaves.
define void @repeated(ptr %p, i64 %x) {
; CHECK-LABEL: define void @repeated
; CHECK: call i32 @__dsm_atomic_cas
; CHECK-NOT: __kmpc_flush
; CHECK: ret void
entry:
  br label %loop
loop:
  %old = phi i64 [ 0, %entry ], [ %seen, %loop ]
  %new = mul i64 %old, %x
  %pair = cmpxchg ptr %p, i64 %old, i64 %new seq_cst seq_cst
  %seen = extractvalue { i64, i1 } %pair, 0
  %ok = extractvalue { i64, i1 } %pair, 1
  br i1 %ok, label %end, label %loop
end:
  call void @__kmpc_flush(ptr @where)
  ret void
}

; Somebody else comes there without having swapped.
define void @shared_end(ptr %p, i64 %x, i1 %skip) {
; CHECK-LABEL: define void @shared_end
; CHECK: call void @__kmpc_flush
; CHECK: ret void
entry:
  br i1 %skip, label %end, label %swap
swap:
  %pair = cmpxchg ptr %p, i64 0, i64 %x seq_cst seq_cst
  br label %end
end:
  call void @__kmpc_flush(ptr @where)
  ret void
}

; The store becomes a release by its flush, which stays.
@flag = global i64 0
define void @plain() {
; CHECK-LABEL: define void @plain
; CHECK: call void @__dsm_atomic_store(ptr @flag, ptr %{{.*}}, i32 8, i32 3)
; CHECK: call void @__kmpc_flush
; CHECK: ret void
  store i64 1, ptr @flag, align 8
  call void @__kmpc_flush(ptr @where)
  ret void
}

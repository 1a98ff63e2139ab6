; Atomics on shared memory become runtime calls; a private one stays.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i64 @f(ptr %p, i64 %x) {
; CHECK-LABEL: define i64 @f
; Threads may wait by loads: these are always calls.
; CHECK: call void @__dsm_atomic_load(ptr %p, ptr %{{.*}}, i32 8, i32 2)
; CHECK: load i32, ptr @__dsm_single_process
; CHECK: br i1 %{{.*}}, label %{{.*}}, label %{{.*}}
; CHECK: call void @__dsm_atomic_store(ptr %p, ptr %{{.*}}, i32 8, i32 3)
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr %{{.*}}, ptr %{{.*}}, i32 8, i32 1, i32 5)
; CHECK: phi i64 [ [[B:%.*]], %{{.*}} ], [ %{{.*}}, %{{.*}} ]
; CHECK: call i32 @__dsm_atomic_cas(ptr %p, ptr %{{.*}}, ptr %{{.*}}, i32 8, i32 4, i32 0)
; CHECK: insertvalue
; CHECK: phi { i64, i1 } [ [[C:%.*]], %{{.*}} ], [ %{{.*}}, %{{.*}} ]
; CHECK: call void @__dsm_atomic_fence(i32 5)
; CHECK: atomicrmw add ptr %local
; CHECK: ret i64
; CHECK: store atomic i64 %{{.*}}, ptr %p release, align 8
; CHECK: [[B]] = atomicrmw add ptr %p, i64 %x seq_cst, align 8
; CHECK: [[C]] = cmpxchg ptr %p, i64 %{{.*}}, i64 %{{.*}} acq_rel monotonic, align 8
; A thread that polls by it waits in the runtime.
; CHECK: extractvalue { i64, i1 } [[C]], 1
; CHECK-NEXT: br i1 %{{.*}}, label %{{.*}}, label %{{.*}}
  %local = alloca i64, align 8
  store i64 0, ptr %local, align 8
  %a = load atomic i64, ptr %p acquire, align 8
  store atomic i64 %a, ptr %p release, align 8
  %b = atomicrmw add ptr %p, i64 %x seq_cst, align 8
  %c = cmpxchg ptr %p, i64 %a, i64 %b acq_rel monotonic, align 8
  %d = extractvalue { i64, i1 } %c, 0
  fence seq_cst
  %e = atomicrmw add ptr %local, i64 %d monotonic, align 8
  ret i64 %e
}

; Spin locks exchange.
define i32 @exchange(ptr %p) {
; CHECK-LABEL: define i32 @exchange
; CHECK-NOT: atomicrmw
; CHECK: call void @__dsm_atomic_rmw
; CHECK-NOT: atomicrmw
; CHECK: ret i32
  %old = atomicrmw xchg ptr %p, i32 1 acquire, align 4
  ret i32 %old
}

; Nobody wants what it was: the runtime may post it.
define void @count(ptr %p) {
; CHECK-LABEL: define void @count
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr %{{.*}}, ptr null, i32 8, i32 1, i32 0)
; CHECK: ret void
  %old = atomicrmw add ptr %p, i64 1 monotonic, align 8
  ret void
}

; A subtraction is an addition of the negative number, in the call.
define void @subtract(ptr %p, i32 %n, ptr %q, double %x) {
; CHECK-LABEL: define void @subtract
; CHECK: [[N:%.*]] = sub i32 0, %n
; CHECK: store i32 [[N]], ptr [[NP:%.*]], align 16
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr [[NP]], ptr null, i32 4, i32 1, i32 0)
; CHECK: [[X:%.*]] = fneg double %x
; CHECK: store double [[X]], ptr [[XP:%.*]], align 16
; CHECK: call void @__dsm_atomic_rmw(ptr %q, ptr [[XP]], ptr null, i32 8, i32 11, i32 0)
; CHECK: ret void
; CHECK: atomicrmw sub ptr %p, i32 %n
; CHECK: atomicrmw fsub ptr %q, double %x
  %a = atomicrmw sub ptr %p, i32 %n monotonic, align 4
  %b = atomicrmw fsub ptr %q, double %x monotonic, align 8
  ret void
}

; Wait loops whose flush or load is in a function that they call, and loops that pause without a flush.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@turn = internal global i32 0, align 4
@top = internal global ptr null, align 8
@steps = internal global i32 0, align 4
@bound = internal global i32 0, align 4

declare void @__kmpc_flush(ptr)
declare void @llvm.x86.sse2.pause()

; CHECK-LABEL: define internal i32 @peek
; CHECK: call void @__dsm_atomic_load(ptr %p, ptr %{{.*}}, i32 4, i32 2)
define internal i32 @peek(ptr %p) noinline {
  %v = load i32, ptr %p, align 4
  ret i32 %v
}

define internal void @look() noinline {
  call void @__kmpc_flush(ptr null)
  ret void
}

define void @waits() {
entry:
  br label %wait
wait:
  call void @look()
  %seen = call i32 @peek(ptr @turn)
  %go = icmp sgt i32 %seen, 3
  br i1 %go, label %done, label %wait
done:
  ret void
}

; The variable that the callee loads is known from the call.
; CHECK-LABEL: define void @sets
; CHECK: call void @__dsm_atomic_store(ptr @turn, ptr %{{.*}}, i32 4, i32 3)
define void @sets() {
  store i32 4, ptr @turn, align 4
  ret void
}

; CHECK-LABEL: define void @pauses
; CHECK: call void @__dsm_atomic_load(ptr @top, ptr %{{.*}}, i32 8, i32 2)
define void @pauses(ptr %empty) {
entry:
  br label %wait
wait:
  call void @llvm.x86.sse2.pause()
  %at = load ptr, ptr @top, align 8
  %go = icmp ne ptr %at, %empty
  br i1 %go, label %done, label %wait
done:
  ret void
}

; CHECK-LABEL: define internal i32 @works
; CHECK-NOT: __dsm_atomic
; CHECK: ret i32
define internal i32 @works() noinline {
  %old = load i32, ptr @steps, align 4
  %new = add i32 %old, 1
  store i32 %new, ptr @steps, align 4
  %b = load i32, ptr @bound, align 4
  %more = icmp slt i32 %new, %b
  %r = zext i1 %more to i32
  ret i32 %r
}

; CHECK-LABEL: define void @works_on
; CHECK-NOT: __dsm_atomic
; CHECK: ret void
define void @works_on() {
entry:
  br label %next
next:
  %r = call i32 @works()
  call void @llvm.x86.sse2.pause()
  %go = icmp eq i32 %r, 0
  br i1 %go, label %done, label %next
done:
  ret void
}

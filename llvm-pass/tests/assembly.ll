; Inline assembly that is one atomic operation is executed as such on shared memory; any other stays.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @fetch_add(ptr %p, i32 %x) {
; CHECK-LABEL: define i32 @fetch_add
; CHECK-NOT: asm
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr %{{.*}}, ptr %{{.*}}, i32 4, i32 1, i32 5)
; CHECK: atomicrmw add ptr %p, i32 %x seq_cst, align 4
  %old = call i32 asm sideeffect "lock; xadd %eax, $2;", "={ax},{ax},*m,~{memory},~{dirflag},~{fpsr},~{flags}"(i32 %x, ptr elementtype(i32) %p)
  ret i32 %old
}

; The instruction has 32 bits whatever its operands have, and clears the upper half of the register.
define i64 @fetch_add_of_the_lower_half(ptr %p, i64 %x) {
; CHECK-LABEL: define i64 @fetch_add_of_the_lower_half
; CHECK: [[X:%.*]] = trunc i64 %x to i32
; CHECK: zext i32 %{{.*}} to i64
; CHECK: atomicrmw add ptr %p, i32 [[X]] seq_cst, align 4
  %old = call i64 asm sideeffect "lock; xaddl %eax, $2;", "={ax},{ax},*m,~{memory},~{dirflag},~{fpsr},~{flags}"(i64 %x, ptr elementtype(i64) %p)
  ret i64 %old
}

define { i8, i32 } @compare_and_swap(ptr %p, i32 %old, i32 %new) {
; CHECK-LABEL: define { i8, i32 } @compare_and_swap
; CHECK-NOT: asm
; CHECK: call i32 @__dsm_atomic_cas(ptr %p, ptr %{{.*}}, ptr %{{.*}}, i32 4, i32 5, i32 5)
; CHECK: zext i1 %{{.*}} to i8
; CHECK: cmpxchg ptr %p, i32 %old, i32 %new seq_cst seq_cst, align 4
  %results = call { i8, i32 } asm sideeffect "lock; cmpxchgl $3,$1 ; sete $0", "=q,=*m,={ax},r,*m,2,~{memory},~{cc},~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i32) %p, i32 %new, ptr elementtype(i32) %p, i32 %old)
  ret { i8, i32 } %results
}

; Spin locks.
define i32 @exchange(ptr %p) {
; CHECK-LABEL: define i32 @exchange
; CHECK-NOT: asm
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr %{{.*}}, ptr %{{.*}}, i32 4, i32 0, i32 5)
  %old = call i32 asm sideeffect "xchgl $0,$1", "=r,*m,0,~{memory},~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i32) %p, i32 1)
  ret i32 %old
}

define void @count(ptr %p) {
; CHECK-LABEL: define void @count
; CHECK-NOT: asm
; CHECK: call void @__dsm_atomic_rmw(ptr %p, ptr %{{.*}}, ptr null, i32 4, i32 1, i32 5)
  call void asm sideeffect "lock; incl $0", "=*m,*m,~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i32) %p, ptr elementtype(i32) %p)
  ret void
}

; Two variables, a byte of a register of which the rest stays, as does half of one where a compare-and-swap swaps, and a fence on a local variable.
define i32 @others(ptr %p, ptr %q, i32 %x, i64 %y) {
; CHECK-LABEL: define i32 @others
; CHECK: asm sideeffect "lock; incl $0"
; CHECK: asm sideeffect "lock; cmpxchgl $1,$2"
; CHECK: asm sideeffect "lock; addl $$0,$0"
; CHECK: asm sideeffect "lock; xaddb $0, $1"
  %local = alloca i32, align 4
  call void asm sideeffect "lock; incl $0", "=*m,*m,~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i32) %p, ptr elementtype(i32) %q)
  %swapped = call i64 asm sideeffect "lock; cmpxchgl $1,$2", "={ax},r,*m,0,~{memory},~{dirflag},~{fpsr},~{flags}"(i32 %x, ptr elementtype(i32) %p, i64 %y)
  call void asm sideeffect "lock; addl $$0,$0", "=*m,*m,~{memory},~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i32) %local, ptr elementtype(i32) %local)
  %old = call i32 asm sideeffect "lock; xaddb $0, $1", "=r,=*m,0,*m,~{memory},~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i32) %p, i32 %x, ptr elementtype(i32) %p)
  ret i32 %old
}

; As without optimisation: the address is loaded twice.
define void @loaded_twice(ptr %x) {
; CHECK-LABEL: define void @loaded_twice
; CHECK-NOT: asm
; CHECK: call void @__dsm_atomic_rmw
; CHECK: asm sideeffect "lock; decl $0"
  %variable = alloca ptr, align 8
  store ptr %x, ptr %variable, align 8
  %p = load ptr, ptr %variable, align 8
  %q = load ptr, ptr %variable, align 8
  call void asm sideeffect "lock; incl $0", "=*m,*m,~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i32) %p, ptr elementtype(i32) %q)
  %r = load ptr, ptr %variable, align 8
  store ptr null, ptr %variable, align 8
  %s = load ptr, ptr %variable, align 8
  call void asm sideeffect "lock; decl $0", "=*m,*m,~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i32) %r, ptr elementtype(i32) %s)
  ret void
}

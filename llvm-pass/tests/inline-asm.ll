; Inline assembly with an operand in shared memory, or with its address, is warned about; a barrier for the compiler is not.
; The address may be an integer, and may be in a local variable that is an operand in memory.
; STDERR
; CHECK: in `f': inline assembly with an operand in memory that may be shared
; CHECK-NEXT: in `f': inline assembly gets the address of memory that may be shared: its
; CHECK-NEXT: in `pointer_in_variable': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `kernel': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `computed': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `merged': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `field': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `element': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `copied': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `either': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `filled_elsewhere': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `set_by_assembly': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `vector': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `advanced': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `passed_in_memory': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `thread_local_pointer': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `constant_pointers': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `escaping_local': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `integer_in_variable': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `without_optimisation': inline assembly reads the address of memory that may be shared from an operand in memory
; CHECK-NEXT: in `integer_in_register': inline assembly gets the address of memory that may be shared: its
; CHECK-NEXT: in `integer_in_register': inline assembly gets the address of memory that may be shared: its
; CHECK-NEXT: in `integer_in_register': inline assembly gets the address of memory that may be shared: its
; CHECK-NEXT: in `integer_in_register': inline assembly gets the address of memory that may be shared: its
; CHECK-NOT: inline assembly
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%pair = type { i64, ptr }

@shared = global i32 0
@own_pointer = internal thread_local global ptr null
@numbers = private constant [2 x i64] [i64 1, i64 2]
@text = private constant [2 x i8] c"x\00"
@table = private constant [2 x ptr] [ptr @text, ptr @shared]
@texts = private constant [2 x ptr] [ptr @text, ptr null]

declare void @fill(ptr captures(none))
declare void @show(ptr readonly captures(none))
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @f(ptr %p) {
  call void asm sideeffect "incl $0", "=*m,*m,~{memory}"(ptr elementtype(i32) %p, ptr elementtype(i32) %p)
  call void asm sideeffect "incl ($0)", "r,~{memory}"(ptr %p)
  ret void
}

define void @none(ptr %p) {
  %own = alloca i32
  call void asm sideeffect "incl $0", "=*m,*m"(ptr elementtype(i32) %own, ptr elementtype(i32) %own)
  call void asm sideeffect "", "=*m,*m,~{memory}"(ptr elementtype(i32) %p, ptr elementtype(i32) %p)
  call void asm sideeffect "", "r,~{memory}"(ptr %p)
  call void asm sideeffect "pause", "~{memory}"()
  call void asm sideeffect "incl $0", "r"(i32 1)
  ret void
}

define void @pointer_in_variable(ptr %p) {
  %v = alloca ptr
  store ptr %p, ptr %v
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %v)
  ret void
}

; One warning for all operands.
define void @kernel(i64 %k, ptr %a, ptr %b, ptr %c) {
  %k.v = alloca i64
  %a.v = alloca ptr
  %b.v = alloca ptr
  %c.v = alloca ptr
  store i64 %k, ptr %k.v
  store ptr %a, ptr %a.v
  store ptr %b, ptr %b.v
  store ptr %c, ptr %c.v
  call void asm sideeffect "movq $0, %rsi; movq $1, %rax; movq $2, %rbx; movq $3, %rcx", "*m,*m,*m,*m,~{rax},~{rbx},~{rcx},~{rsi},~{memory}"(ptr elementtype(i64) %k.v, ptr elementtype(ptr) %a.v, ptr elementtype(ptr) %b.v, ptr elementtype(ptr) %c.v)
  ret void
}

define void @computed(ptr %p, i64 %i) {
  %v = alloca ptr
  %q = getelementptr double, ptr %p, i64 %i
  store ptr %q, ptr %v
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %v)
  ret void
}

define void @merged(ptr %p, i1 %c) {
  %v = alloca ptr
  %q = select i1 %c, ptr %p, ptr null
  store ptr %q, ptr %v
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %v)
  ret void
}

; The number of the pair is none of the pointer's bytes.
define void @field(ptr %p, i64 %n) {
  %v = alloca %pair
  store i64 %n, ptr %v
  %second = getelementptr %pair, ptr %v, i32 0, i32 1
  store ptr %p, ptr %second
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(i64) %v)
  call void asm sideeffect "movq 8$0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(%pair) %v)
  ret void
}

define void @element(ptr %p, i64 %i) {
  %v = alloca [4 x ptr]
  %to = getelementptr [4 x ptr], ptr %v, i64 0, i64 %i
  store ptr %p, ptr %to
  call void asm sideeffect "movq 8$0, %rax", "*m,~{rax},~{memory}"(ptr elementtype([4 x ptr]) %v)
  ret void
}

define void @copied(ptr %p) {
  %v = alloca %pair
  %w = alloca %pair
  %second = getelementptr %pair, ptr %w, i32 0, i32 1
  store ptr %p, ptr %second
  call void @llvm.memcpy.p0.p0.i64(ptr %v, ptr %w, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr %v, i64 16, i1 false)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(i64) %v)
  call void asm sideeffect "movq 8$0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(%pair) %v)
  ret void
}

define void @either(ptr %p, i1 %c) {
  %v = alloca %pair
  %first = getelementptr %pair, ptr %v, i32 0, i32 0
  %second = getelementptr %pair, ptr %v, i32 0, i32 1
  %to = select i1 %c, ptr %first, ptr %second
  store ptr %p, ptr %to
  call void asm sideeffect "movq 8$0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %second)
  ret void
}

define void @filled_elsewhere() {
  %v = alloca ptr
  call void @fill(ptr %v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %v)
  ret void
}

define void @set_by_assembly() {
  %v = alloca ptr
  call void asm sideeffect "movq %rax, $0", "=*m"(ptr elementtype(ptr) %v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %v)
  ret void
}

define void @vector(ptr %p, ptr %q) {
  %v = alloca [2 x ptr]
  %one = insertelement <2 x ptr> poison, ptr %p, i32 0
  %both = insertelement <2 x ptr> %one, ptr %q, i32 1
  store <2 x ptr> %both, ptr %v
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %v)
  ret void
}

define void @advanced(ptr %p) {
  %v = alloca ptr
  store ptr %p, ptr %v
  call void asm sideeffect "addq $$8, $0", "=*m,*m,~{memory}"(ptr elementtype(ptr) %v, ptr elementtype(ptr) %v)
  ret void
}

define void @passed_in_memory(ptr byval(%pair) %v) {
  call void asm sideeffect "movq 8$0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(%pair) %v)
  ret void
}

define void @thread_local_pointer() {
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) @own_pointer)
  ret void
}

define void @constant_pointers() {
  call void asm sideeffect "movq 8$0, %rax", "*m,~{rax},~{memory}"(ptr elementtype([2 x ptr]) @table)
  call void asm sideeffect "movq 8$0, %rax", "*m,~{rax},~{memory}"(ptr elementtype([2 x ptr]) @texts)
  ret void
}

; The store makes the address one that assembly may pass on, as in a register: the variable is on the shared stack.
define void @escaping_local() {
  %own = alloca i32
  %v = alloca ptr
  store ptr %own, ptr %v
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %v)
  ret void
}

define void @integer_in_variable(ptr %p) {
  %v = alloca i64
  %x = ptrtoint ptr %p to i64
  %y = and i64 %x, -64
  store i64 %y, ptr %v
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(i64) %v)
  ret void
}

define void @without_optimisation(ptr %p) {
  %p.v = alloca ptr
  %x.v = alloca i64
  %y.v = alloca i64
  store ptr %p, ptr %p.v
  %q = load ptr, ptr %p.v
  %x = ptrtoint ptr %q to i64
  store i64 %x, ptr %x.v
  %x.again = load i64, ptr %x.v
  store i64 %x.again, ptr %y.v
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(i64) %y.v)
  ret void
}

define void @integer_in_register(ptr %p, i1 %c) {
  %x = ptrtoint ptr %p to i64
  %y = add i64 %x, 8
  %z = select i1 %c, i64 %y, i64 0
  call void asm sideeffect "incl ($0)", "r,~{memory}"(i64 %x)
  call void asm sideeffect "incl ($0)", "r,~{memory}"(i64 %z)
  call i64 asm sideeffect "incl ($0)", "=r,0,~{memory}"(i64 %y)
  call void asm sideeffect "incl ($0)", "r,~{memory}"(i64 ptrtoint (ptr @shared to i64))
  ret void
}

; Numbers, outputs, and pointers to what is private.
define void @variables(ptr %p, i64 %n, double %d) {
  %i.v = alloca i64
  %d.v = alloca double
  %wide.v = alloca [4 x double]
  %out.v = alloca ptr
  %own.v = alloca ptr
  %again.v = alloca ptr
  %low.v = alloca i64
  %length.v = alloca i64
  %zero.v = alloca [2 x ptr]
  %unset.v = alloca ptr
  %filled.v = alloca i64
  %begin = ptrtoint ptr %p to i64
  %q = getelementptr i8, ptr %p, i64 %n
  %end = ptrtoint ptr %q to i64
  %length = sub i64 %end, %begin
  %low = and i64 %begin, 63
  %loaded = load i64, ptr %p
  %sum = add i64 %loaded, %n
  store i64 %sum, ptr %i.v
  store double %d, ptr %d.v
  store i64 %low, ptr %low.v
  store i64 %length, ptr %length.v
  store ptr @text, ptr %own.v
  store ptr @variables, ptr %own.v
  store ptr null, ptr %own.v
  %same = load ptr, ptr %own.v
  store ptr %same, ptr %again.v
  store <2 x ptr> zeroinitializer, ptr %zero.v
  call void @llvm.memset.p0.i64(ptr %zero.v, i8 0, i64 16, i1 false)
  call void @fill(ptr %filled.v)
  call void @show(ptr %own.v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(i64) %i.v)
  call void asm sideeffect "movsd $0, %xmm0", "*m,~{xmm0},~{memory}"(ptr elementtype(double) %d.v)
  call void asm sideeffect "vmovups $0, %ymm0", "*m,~{xmm0},~{memory}"(ptr elementtype([4 x double]) %wide.v)
  call void asm sideeffect "movq %rax, $0", "=*m,~{memory}"(ptr elementtype(ptr) %out.v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %own.v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %again.v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(i64) %low.v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(i64) %length.v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype([2 x ptr]) %zero.v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(ptr) %unset.v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype(i64) %filled.v)
  call void asm sideeffect "movq $0, %rax", "*m,~{rax},~{memory}"(ptr elementtype([2 x i64]) @numbers)
  ret void
}

define i64 @barriers_and_registers(ptr %p, i64 %n) {
  %v = alloca ptr
  store ptr %p, ptr %v
  call void asm sideeffect "", "*m,~{memory}"(ptr elementtype(ptr) %v)
  call void asm sideeffect "", "=*m,*m,~{memory}"(ptr elementtype(ptr) %v, ptr elementtype(ptr) %v)
  %x = ptrtoint ptr %p to i64
  call void asm sideeffect "", "r,~{memory}"(i64 %x)
  %same = call i64 asm "", "=r,0"(i64 %x)
  %first = call i64 asm "bsfq $1, $0", "=r,r"(i64 %x) memory(none)
  %offset = and i64 %x, 4095
  %low = trunc i64 %x to i32
  %of.text = ptrtoint ptr @text to i64
  %result = call i64 asm sideeffect "syscall", "={ax},{ax},{di},{si},{dx},~{rcx},~{r11},~{memory}"(i64 1, i64 %n, i64 %offset, i64 %of.text)
  call void asm sideeffect "outl $0, %dx", "{ax}"(i32 %low)
  call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},0"(i32 1)
  call { i32, i32 } asm sideeffect "rdtsc", "={ax},={dx}"()
  ret i64 %first
}

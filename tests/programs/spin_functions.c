// A spin lock in functions of its own; the counter is only accessed under it.
#include <stdio.h>
#include <stdatomic.h>
#ifdef __DSM__
static long count;
#else
// LLVM believes that functions which only touch the flag do not order accesses to a static variable (GlobalsAA), and keeps it in a register.
static volatile long count;
#endif
static atomic_flag l = ATOMIC_FLAG_INIT;
__attribute__((noinline)) void enter(void) { while (atomic_flag_test_and_set_explicit(&l, memory_order_acquire)) ; }
__attribute__((noinline)) void leave(void) { atomic_flag_clear_explicit(&l, memory_order_release); }
int main(void){
 #pragma omp parallel for num_threads(4) schedule(static,1)
 for(int k=0;k<4000;k++){ enter(); count++; leave(); }
 printf("%ld\n",count); }

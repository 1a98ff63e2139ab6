/* A function of the program, which the assembler defines as another file would, has a name of POSIX. */
//@ layout: 2x1
//@ found: output
#include <omp.h>
#include <stdio.h>

_Alignas(65536) long data;

__attribute__((used)) static void wait_for_all(void) {
#pragma omp barrier
}
__asm__(".text\n.globl sync\nsync: jmp wait_for_all\n");
void sync(void);

__attribute__((noinline)) static long difference(const long *at) {
    long before = *at;
    sync();
    sync();
    return *at - before;
}

int main(void) {
    long wrong = 0;
    for (int round = 1; round <= 20; round++) {
        data = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
        {
            wrong += data;
#pragma omp barrier
            if (omp_get_thread_num() == 0) {
                sync();
                data = round;
                sync();
            } else {
                wrong += difference(&data) != round;
            }
        }
    }
    printf("%ld wrong\n", wrong);
    return 0;
}

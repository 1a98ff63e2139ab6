// final, if, untied, mergeable, priority, detach, taskyield, task reductions, data sharing.
//@ env: OMP_MAX_TASK_PRIORITY=10
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static void finals(void) {
    int depth = 0, inside = 0, outside = omp_in_final(), explicit = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task final(1) shared(inside, depth)
        {
            inside = omp_in_final();
#pragma omp task shared(depth)
            {
                depth = 1 + omp_in_final();
#pragma omp task shared(depth)
                depth = depth * 10 + omp_in_final();
            }
        }
#pragma omp taskwait
#pragma omp task shared(explicit)
        explicit = omp_in_explicit_task() * 10 + omp_in_final();
#pragma omp taskwait
        explicit = explicit * 10 + omp_in_explicit_task();
    }
    printf("final %d %d %d %d\n", outside, inside, depth, explicit);
}

static void events(void) {
    omp_event_handle_t event;
    int done = 0, after = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task detach(event) depend(out : done) shared(done)
        done = 1;
#pragma omp task depend(in : done) shared(after, done)
        after = done * 2;
#pragma omp task firstprivate(event) shared(done)
        {
            for (volatile int spin = 0; spin < 10000; spin++) {}
            omp_fulfill_event(event);
        }
#pragma omp taskwait
        after = after * 10 + done;
    }
    printf("detach %d\n", after);
}

static long walk(int depth) {
    long sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
    {
        for (int i = 0; i < 4; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
            {
                sum += i + depth;
                if (depth > 0) {
#pragma omp task in_reduction(+ : sum) untied
                    sum += 100;
                }
            }
        }
    }
    return sum;
}

static void reductions(void) {
    long got = 0, total = 0;
    double product = 1;
#pragma omp parallel
#pragma omp single
    got = walk(0) * 1000 + walk(2);
#pragma omp parallel reduction(task, + : total)
    {
#pragma omp single
        for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : total)
            total += i;
        }
    }
    int best = -1;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(max : best) task_reduction(* : product)
    for (int i = 0; i < 30; i++) {
#pragma omp task in_reduction(max : best) in_reduction(* : product)
        {
            best = best > i * 7 % 31 ? best : i * 7 % 31;
            product *= i % 2 ? 2 : 0.5;
        }
    }
    printf("reductions %ld %ld %d %.3f\n", got, total, best, product);
}

// Untied tasks (libomp 22 asserts when an if clause keeps one from being deferred).
static long untied(void) {
    long total = 0;
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < 40; i++) {
#pragma omp task untied shared(total) firstprivate(i)
        {
            long mine = i;
#pragma omp taskyield
#pragma omp atomic
            total += mine;
        }
    }
    return total;
}

// Waiting in critical sections, nested regions and yields.
static void mixing(void) {
    long sum = 0, locked = 0, nested = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel shared(sum, locked, nested)
    {
        for (int i = 0; i < 10; i++) {
#pragma omp task untied priority(i) shared(sum, locked)
            {
                long mine = i;
#pragma omp taskyield
#pragma omp critical
                sum += mine;
#pragma omp taskyield
                omp_set_lock(&lock);
                locked += 1;
                omp_unset_lock(&lock);
            }
        }
#pragma omp single nowait
        {
#pragma omp task shared(nested)
            {
                long inner = 0;
#pragma omp parallel for reduction(+ : inner) num_threads(2)
                for (int i = 0; i < 100; i++) inner += i;
                nested = inner;
            }
        }
    }
    int threads = 1;
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    printf("mixing %ld %ld %ld\n", sum / threads, locked / threads, nested);
    omp_destroy_lock(&lock);
}

// Captured variables by their sharing: shared on the stack, first private structures and arrays, the heap.
typedef struct {
    int a[5];
    double b;
} Pack;

static void sharing(void) {
    Pack pack = {{1, 2, 3, 4, 5}, 2.5};
    int row[6], vla = 6;
    for (int i = 0; i < vla; i++) row[i] = i;
    long *heap = calloc(50, sizeof *heap), stack[50] = {0};
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++) {
#pragma omp task firstprivate(pack, row) shared(stack)
        {
            pack.a[i % 5] += i, row[i % vla] += i;
            for (int k = 0; k < 5; k++) stack[i] += pack.a[k];
            for (int k = 0; k < vla; k++) stack[i] += row[k];
            heap[i] = (long)(pack.b * i);
        }
        pack.a[0] = i;
    }
    long mix = 0;
    for (int i = 0; i < 50; i++) mix = mix * 3 + stack[i] + heap[i];
    printf("sharing %ld\n", mix);
    free(heap);
}

int main(void) {
    printf("untied %ld\n", untied());
    finals(), events(), reductions(), mixing(), sharing();
    return 0;
}

// Allocators with traits: alignment, pools that end, what allocates in their place, defaults by task.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int aligned(const void *p, uintptr_t to) {
    return p != NULL && (uintptr_t)p % to == 0;
}

static omp_allocator_handle_t make(int count, const omp_alloctrait_t *traits) {
    return omp_init_allocator(omp_default_mem_space, count, (omp_alloctrait_t *)traits);
}

static void alignments(void) {
    omp_alloctrait_t trait = {omp_atk_alignment, 4096};
    omp_allocator_handle_t a = make(1, &trait);
    void *p = omp_alloc(100, a), *q = omp_calloc(10, 10, a), *r = omp_aligned_alloc(64, 100, a), *s = omp_aligned_alloc(8192, 100, a);
    printf("alignment %d %d %d %d\n", aligned(p, 4096), aligned(q, 4096), aligned(r, 4096), aligned(s, 8192));
    void *t = omp_realloc(p, 10000, a, a);
    printf("moved %d\n", aligned(t, 4096));
    omp_free(t, a);
    omp_free(q, omp_null_allocator);
    omp_free(r, a);
    omp_free(s, a);
    omp_destroy_allocator(a);
}

static void pools(void) {
    omp_alloctrait_t null_fb[] = {{omp_atk_pool_size, 1 << 20}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t a = make(2, null_fb);
    void *p = omp_alloc(600000, a), *q = omp_alloc(600000, a);
    printf("pool %d %d\n", p != NULL, q != NULL);
    omp_free(p, a);
    p = omp_alloc(600000, a);
    printf("again %d\n", p != NULL);
    omp_alloctrait_t other[] = {{omp_atk_pool_size, 1000}, {omp_atk_fallback, omp_atv_allocator_fb}, {omp_atk_fb_data, (omp_uintptr_t)a}};
    omp_allocator_handle_t b = make(3, other);
    void *r = omp_alloc(200000, b), *s = omp_alloc(600000, b);
    printf("fallback %d %d\n", r != NULL, s != NULL);
    omp_free(r, b);
    omp_free(p, a);
    omp_alloctrait_t default_fb[] = {{omp_atk_pool_size, 100}};
    omp_allocator_handle_t c = make(1, default_fb);
    char *t = omp_calloc(1000, 10, c);
    int sum = 0;
    for (int i = 0; i < 10000; i++) sum += t[i];
    printf("default memory %d\n", sum);
    omp_free(t, c);
    // All threads share a pool: some of them get something out of it.
    int most[4] = {0};
#pragma omp parallel num_threads(4) shared(most)
    {
        void *mine[64];
        int n = 0;
        for (; n < 64 && (mine[n] = omp_alloc(50000, a)) != NULL; n++) memset(mine[n], n, 50000);
#pragma omp barrier
        most[omp_get_thread_num()] = n;
        while (n > 0) omp_free(mine[--n], a);
    }
    printf("all %d\n", most[0] + most[1] + most[2] + most[3]);
    p = omp_alloc(1000000, a);
    printf("all given back %d\n", p != NULL);
    omp_free(p, a);
    omp_destroy_allocator(c);
    omp_destroy_allocator(b);
    omp_destroy_allocator(a);
}

static void edges(void) {
    printf("nothing %d %d %d\n", omp_alloc(0, omp_default_mem_alloc) == NULL, omp_calloc(0, 5, omp_default_mem_alloc) == NULL,
           omp_aligned_alloc(64, 0, omp_default_mem_alloc) == NULL);
    char *p = omp_realloc(NULL, 100, omp_default_mem_alloc, omp_null_allocator);
    memset(p, 7, 100);
    p = omp_realloc(p, 300000, omp_null_allocator, omp_null_allocator);
    printf("kept %d %d\n", p[0], p[99]);
    printf("freed %d\n", omp_realloc(p, 0, omp_default_mem_alloc, omp_default_mem_alloc) == NULL);
    omp_free(NULL, omp_default_mem_alloc);
    char *shared = omp_alloc(4000, omp_large_cap_mem_alloc);
#pragma omp parallel for
    for (int i = 0; i < 4000; i++) shared[i] = (char)(i % 100);
    int sum = 0;
    for (int i = 0; i < 4000; i++) sum += shared[i];
    printf("shared %d\n", sum);
    omp_free(shared, omp_large_cap_mem_alloc);
}

static void defaults(void) {
    omp_alloctrait_t trait = {omp_atk_alignment, 1024};
    omp_allocator_handle_t a = make(1, &trait);
    omp_set_default_allocator(a);
    printf("set %d\n", omp_get_default_allocator() == a);
    int right = 0;
#pragma omp parallel reduction(+ : right)
    {
        void *p = omp_alloc(10, omp_null_allocator);
        right += omp_get_default_allocator() == a && aligned(p, 1024);
        omp_free(p, omp_null_allocator);
        omp_set_default_allocator(omp_large_cap_mem_alloc);
#pragma omp barrier
        right += omp_get_default_allocator() == omp_large_cap_mem_alloc;
    }
    printf("inherited %d\n", right > 0 && right % 2 == 0);
    printf("kept %d\n", omp_get_default_allocator() == a);
    int wrong = 0;
    double local[8];
#pragma omp allocate(local) allocator(omp_default_mem_alloc) align(64)
    local[0] = 1;
    wrong += (uintptr_t)local % 64 != 0;
    int x = 5;
#pragma omp parallel firstprivate(x) allocate(allocator(a) : x) reduction(+ : wrong)
    wrong += x != 5 || (uintptr_t)&x % 1024 != 0;
    printf("directive and clause %d\n", wrong);
}

int main(void) {
    alignments();
    pools();
    edges();
    defaults();
    return 0;
}

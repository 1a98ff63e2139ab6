// The processor's own gathers, scatters and masked accesses, with lanes that are switched off and point nowhere; scalar code where it has none.
#include <immintrin.h>
#include <stdio.h>
#define N 16384

static double a[N], b[N];
static int at[N];
static long where[N];

__attribute__((target("avx2"))) static double sum_avx2(int lo, int hi) {
    __m256d sum = _mm256_setzero_pd(), zero = _mm256_setzero_pd();
    for (int i = lo; i < hi; i += 4) {
        __m128i index = _mm_loadu_si128((__m128i *)&at[i]);
        sum = _mm256_add_pd(sum, _mm256_i32gather_pd(a, index, 8));
        __m256i mask = _mm256_set_epi64x(-1, 0, -1, 0);
        __m256i far = _mm256_loadu_si256((__m256i *)&where[i]);
        far = _mm256_or_si256(_mm256_and_si256(far, mask), _mm256_andnot_si256(mask, _mm256_set1_epi64x(1L << 60)));
        sum = _mm256_add_pd(sum, _mm256_mask_i64gather_pd(zero, a, far, _mm256_castsi256_pd(mask), 8));
        sum = _mm256_add_pd(sum, _mm256_maskload_pd(a + (i + 5000) % (N - 4), mask));
        _mm256_maskstore_pd(b + i, mask, sum);
    }
    double t[4];
    _mm256_storeu_pd(t, sum);
    return t[0] + t[1] + t[2] + t[3];
}

__attribute__((target("avx512f"))) static void scatter_avx512(int lo, int hi) {
    for (int i = lo; i < hi; i += 8) {
        __m512i index = _mm512_loadu_si512(&where[i]);
        _mm512_mask_i64scatter_pd(b, 0x55, index, _mm512_i64gather_pd(index, a, 8), 8);
    }
}

static double sum_plain(int lo, int hi) {
    double sum[4] = {0};
    for (int i = lo; i < hi; i += 4)
        for (int k = 0; k < 4; k++) {
            sum[k] += a[at[i + k]];
            if (!(k & 1)) continue;
            sum[k] += a[where[i + k]];
            sum[k] += a[(i + 5000) % (N - 4) + k];
            b[i + k] = sum[k];
        }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

int main(void) {
    int avx2 = __builtin_cpu_supports("avx2"), avx512 = __builtin_cpu_supports("avx512f");
    for (int r = 0; r < 3; r++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++) {
            a[i] = i + r;
            at[i] = (int)(i * 2654435761u % N);
            where[i] = (i * 7919L + r) % N;
        }
        double s = 0, t = 0;
#pragma omp parallel for reduction(+ : s)
        for (int k = 0; k < N; k += 1024) s += avx2 ? sum_avx2(k, k + 1024) : sum_plain(k, k + 1024);
        for (int i = 0; i < N; i++) t += b[i] * (i % 13);
#pragma omp parallel for schedule(static, 1)
        for (int k = 0; k < N; k += 1024) {
            if (avx512) scatter_avx512(k, k + 1024);
            else
                for (int i = k; i < k + 1024; i += 2) b[where[i]] = a[where[i]];
        }
        double u = 0;
        for (int i = 0; i < N; i++) u += b[i] * (i % 17);
        printf("%.0f %.0f %.0f\n", s, t, u);
    }
    return 0;
}

//@ flags: -frounding-math
// Threads of a team begin with the floating-point environment of the thread that forks: rounding, flushing of denormals, the x87 unit's control word.
#include <fenv.h>
#include <omp.h>
#include <stdio.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
static void flush_denormals(int on) { _MM_SET_FLUSH_ZERO_MODE(on ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF); }
#else
static void flush_denormals(int on) { (void)on; }
#endif

static volatile double one = 1, three = 3, tiny = 1e-300, small = 1e-10;
static volatile long double wide_one = 1, wide_three = 3;
static double quotient[4], product[4];
static long double wide[4];
static int mode[4], inner[4][2];

static void measure(const char *title) {
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
        mode[me] = fegetround();
        quotient[me] = one / three;
        wide[me] = wide_one / wide_three;
        product[me] = tiny * small;
#pragma omp parallel num_threads(2)
        inner[me][omp_get_thread_num()] = fegetround();
    }
    for (int i = 0; i < 4; i++)
        printf("%s %d: mode %d %a %La denormal %a inner %d\n", title, i, mode[i] == fegetround(), quotient[i], wide[i], product[i],
               inner[i][0] == fegetround() && inner[i][omp_get_max_active_levels() > 1] == fegetround());
}

int main(void) {
    measure("at first");
    fesetround(FE_UPWARD);
    measure("upward");
    flush_denormals(1);
    measure("flushing");
    fesetround(FE_DOWNWARD);
    flush_denormals(0);
    measure("downward");

    // What a region changes ends with it, for the thread that forks as well.
#pragma omp parallel num_threads(4)
    fesetround(FE_TOWARDZERO);
    printf("behind a region: %d\n", fegetround() == FE_DOWNWARD);
#pragma omp parallel num_threads(1)
    fesetround(FE_TOWARDZERO);
    printf("behind a region of one thread: %d\n", fegetround() == FE_DOWNWARD);
#pragma omp parallel if (omp_get_max_threads() < 0)
    fesetround(FE_TOWARDZERO);
    printf("behind a serial region: %d\n", fegetround() == FE_DOWNWARD);
    measure("afterwards");

    fenv_t environment;
    feholdexcept(&environment);
    measure("without traps");
    fesetenv(FE_DFL_ENV);
    measure("default");
    return 0;
}

// Loops that would overwrite a range, but throw in the middle, leave by return or jump: the rest keeps what it had.
#include <algorithm>
#include <cstdio>
#include <omp.h>
#include <setjmp.h>
#include <stdexcept>
#include <vector>

static const int parts = 5, per = 2000;
static std::vector<double> values(parts * per);
static jmp_buf back[parts];

__attribute__((noinline)) static double at_most(int i, int limit)
{
    if (i == limit)
        throw std::out_of_range("limit");
    return i * 0.5;
}

__attribute__((noinline)) static double or_jump(int i, int limit, int part)
{
    if (i == limit)
        longjmp(back[part], 1);
    return i * 0.25;
}

__attribute__((noinline)) static void throwing(double *p, int limit)
{
    for (int i = 0; i < per; i++)
        p[i] = at_most(i, limit);
}

__attribute__((noinline)) static void jumping(double *p, int limit, int part)
{
    for (int i = 0; i < per; i++)
        p[i] = or_jump(i, limit, part);
}

__attribute__((noinline)) static bool returning(double *p, const double *stop)
{
    for (int i = 0; i < per; i++) {
        if (stop[i] > 900)
            return false;
        p[i] = i;
    }
    return true;
}

static double sum()
{
    double s = 0;
    for (int i = 0; i < parts * per; i++)
        s += values[i] * (i % 9);
    return s;
}

int main()
{
    for (int round = 0; round < 4; round++) {
        int caught = 0;
#pragma omp parallel reduction(+ : caught)
        for (int part = 0; part < parts; part++) {
            if ((part + round) % omp_get_num_threads() != omp_get_thread_num())
                continue;
            double *p = &values[part * per];
            std::fill(p, p + per, part + round + 1.0);
        }
        std::printf("filled %.1f\n", sum());
#pragma omp parallel reduction(+ : caught)
        for (int part = 0; part < parts; part++) {
            if ((part + round + 1) % omp_get_num_threads() != omp_get_thread_num())
                continue;
            double *p = &values[part * per];
            try {
                throwing(p, part % 2 ? per : 300 * (part + 1));
            } catch (const std::out_of_range &) {
                caught++;
            }
        }
        std::printf("thrown %d %.1f\n", caught, sum());
#pragma omp parallel reduction(+ : caught)
        for (int part = 0; part < parts; part++) {
            if ((part + round + 2) % omp_get_num_threads() != omp_get_thread_num())
                continue;
            double *p = &values[part * per];
            if (setjmp(back[part]) == 0)
                jumping(p, part % 2 ? 700 * part : per, part);
            caught += !returning(p, p);
        }
        std::printf("left %d %.2f\n", caught, sum());
#pragma omp parallel
        if (omp_get_thread_num() == round % omp_get_num_threads())
            std::copy(values.begin(), values.begin() + per, values.end() - per - 3);
        std::printf("copied %.2f\n", sum());
    }
    return 0;
}

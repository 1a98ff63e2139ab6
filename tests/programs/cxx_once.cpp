// std::call_once with an exception, locks with a time, readers that are in together.
#include <mutex>
#include <shared_mutex>
#include <cstdio>
#include <omp.h>
static std::once_flag flag; static std::timed_mutex tm; static std::shared_mutex sm; static std::shared_timed_mutex st;
static int calls, tries, v;

int main() {
  int sum = 0;
#pragma omp parallel num_threads(4) reduction(+:sum)
  {
    for (int k = 0; k < 3; k++) {
      try { std::call_once(flag, [] { if (tries++ < 1) throw 5; calls++; v = 42; }); sum += v; } catch (int n) { sum += n; }
    }
#pragma omp barrier
    if (tm.try_lock_for(std::chrono::seconds(5))) { v++; tm.unlock(); }
    { std::shared_lock l(sm);
#pragma omp barrier
    }
    { std::unique_lock l(st, std::chrono::seconds(5)); v++; }
  }
  std::printf("%d %d %d %d\n", calls, tries, sum, v);
}

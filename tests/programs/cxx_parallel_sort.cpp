//@ flags: -Wno-deprecated-declarations
// GCC's parallel mode: a sort of pairs whose team is made in a header.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <parallel/algorithm>
#include <utility>
#include <vector>

int main() {
    std::vector<std::pair<int, long>> v(20000);
    for (size_t i = 0; i < v.size(); i++) v[i] = {int(i * 7919 % 20011), long(i)};
    __gnu_parallel::sort(v.begin(), v.end(), std::greater<std::pair<int, long>>());
    printf("%d %d %ld\n", std::is_sorted(v.rbegin(), v.rend()), v[0].first, v[0].second);
}

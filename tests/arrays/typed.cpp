// dsm::array: elements of a type, moved objects, and pages that move.
#include <dsm_array.hpp>

#include <cstdio>
#include <utility>
#include <vector>

struct point {
    double x, y;
};

int main()
{
    dsm::array<point> first(1000, 4096);
    dsm::array<point> points = std::move(first);
    long wrong = points.size() != 1000;
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        points.put(i, point{1.0 * i, -2.0 * i});
#pragma omp parallel for reduction(+ : wrong)
    for (int i = 0; i < 10; i++) {
        points.own(100 * ((i + 5) % 10), 100);
        std::vector<point> some(50);
        points.get(100 * i, 50, some.data());
        for (int k = 0; k < 50; k++)
            wrong += some[k].x != 100 * i + k || some[k].y != -2.0 * (100 * i + k);
        wrong += points.location(100 * i) < 0;
    }
    point last = points.get(999);
    wrong += last.x != 999;
    std::puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}

// Parallel regions in destructors of global and thread-local objects, and of static ones of functions that another thread reached first.
#include <cstdio>
#include <numeric>
#include <omp.h>
#include <string>
#include <vector>

static int sum_of(const std::vector<int> &values) {
    int sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum)
    for (int i = 0; i < (int)values.size(); i++) sum += values[i];
    return sum;
}

struct Table {
    std::string name;
    std::vector<int> values;
    explicit Table(std::string n) : name(std::move(n)), values(1000) {
#pragma omp parallel for num_threads(4)
        for (int i = 0; i < 1000; i++) values[i] = i;
    }
    ~Table() { std::printf("%s: %d\n", name.c_str(), sum_of(values)); }
};

static Table global("global");

static Table &in_function() {
    static Table table("in a function");
    return table;
}

struct Late {
    ~Late() {
        Table inner("made by a destructor");
    }
} late;

int main() {
    static int first[4];
#pragma omp parallel num_threads(4)
    {
        thread_local std::string text = "main's";
        if (omp_get_thread_num() == 3) in_function();
#pragma omp barrier
        first[omp_get_thread_num()] = in_function().values[omp_get_thread_num()] + (int)text.size();
    }
    std::printf("%d %d %d %d\n", first[0], first[1], first[2], first[3]);
    return 0;
}

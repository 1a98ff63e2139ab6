// Objects in OpenMP clauses: copies, reductions, iterators, tasks.
#include <cstdio>
#include <string>
#include <vector>

struct Tracker {
    std::string text;
    long sum = 0;
    static int copies;
    Tracker() = default;
    explicit Tracker(std::string text) : text(std::move(text)) {}
    Tracker(const Tracker &other) : text(other.text + "c"), sum(other.sum)
    {
#pragma omp atomic
        copies++;
    }
    Tracker &operator=(const Tracker &) = default;
    Tracker &operator+=(const Tracker &other)
    {
        sum += other.sum;
        return *this;
    }
};
int Tracker::copies;

#pragma omp declare reduction(+ : Tracker : omp_out += omp_in) initializer(omp_priv = Tracker())
#pragma omp declare reduction(append : std::vector<int> : omp_out.insert(omp_out.end(), omp_in.begin(), omp_in.end()))

static Tracker per_thread("start");
#pragma omp threadprivate(per_thread)

static long walk(const std::vector<int> &tree, size_t node)
{
    if (node >= tree.size())
        return 0;
    long left = 0, right = 0;
    std::string label = "node " + std::to_string(node) + " of the tree, with a label";
#pragma omp task shared(left, tree) firstprivate(label)
    left = walk(tree, 2 * node + 1) + (label.size() > 20);
#pragma omp task shared(right, tree)
    right = walk(tree, 2 * node + 2);
#pragma omp taskwait
    return left + right + tree[node];
}

int main()
{
    Tracker copied("a text that is longer than what fits inside");
    copied.sum = 5;
    long sum = 0;
    int good = 0;
#pragma omp parallel firstprivate(copied) reduction(+ : sum, good)
    {
        copied.sum += 1;
        sum += copied.sum > 0;
        good += copied.text == "a text that is longer than what fits insidec";
    }
    std::printf("%d %ld\n", sum == good, copied.sum);

    Tracker last;
#pragma omp parallel for lastprivate(last)
    for (int i = 0; i < 100; i++) {
        last.sum = i;
        last.text = std::to_string(i) + " is the number of this iteration";
    }
    std::printf("%s %ld\n", last.text.c_str(), last.sum);

    Tracker reduced;
    std::vector<int> collected;
#pragma omp parallel for reduction(+ : reduced) reduction(append : collected)
    for (int i = 0; i < 100; i++) {
        reduced.sum += i;
        collected.push_back(i);
    }
    long total = 0;
    for (int value : collected)
        total += value;
    std::printf("%ld %zu %ld\n", reduced.sum, collected.size(), total);

    std::vector<int> numbers(500, 2);
#pragma omp parallel for
    for (auto it = numbers.begin(); it < numbers.end(); ++it)
        *it += static_cast<int>(it - numbers.begin());
#pragma omp parallel for reduction(+ : total)
    for (int &number : numbers)
        total += number++;
    std::printf("%ld %d\n", total, numbers[499]);

    per_thread.text = "copied to all threads by copyin";
    int equal = 0, threads = 0;
#pragma omp parallel copyin(per_thread) reduction(+ : equal, threads)
    {
        equal += per_thread.text == "copied to all threads by copyin";
        threads++;
    }
    std::printf("%d\n", equal == threads);

    Tracker handed;
    int received = 0;
#pragma omp parallel private(handed) reduction(+ : received)
    {
#pragma omp single copyprivate(handed)
        handed.text = "broadcast to the others, which have a copy each";
        received += handed.text.size() == 47;
    }
    std::printf("%d\n", received == threads);

    long walked = 0;
#pragma omp parallel
#pragma omp single
    walked = walk(numbers, 0);
    std::printf("%ld\n", walked);
}

// Containers of the standard library that all threads read and change.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

static std::map<int, std::string> names;
static std::set<std::string> words;
static std::list<long> numbers;
static std::unordered_map<std::string, int> counts;
static std::deque<int> queue;

static std::string spell(int i) { return "the number " + std::to_string(i) + " in a string that is allocated"; }

// A tree that grows and shrinks at random places stays sorted and balanced.
static void tree()
{
    std::map<unsigned, int> tree;
    unsigned seed = 1;
    for (int i = 0; i < 3000; i++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned key = seed >> 22;
        if (seed & 0x100)
            tree.erase(key);
        else
            tree[key] += i;
    }
    unsigned long sum = 0, backwards = 0;
    for (auto &[key, value] : tree)
        sum = sum * 31 + key + value;
    for (auto it = tree.rbegin(); it != tree.rend(); ++it)
        backwards += it->first;
    std::printf("tree %zu %lu %lu %d\n", tree.size(), sum, backwards,
                std::is_sorted(tree.begin(), tree.end(), [](auto &a, auto &b) { return a.first < b.first; }));
    while (!tree.empty())
        tree.erase(tree.size() % 2 ? tree.begin() : std::prev(tree.end()));
    std::printf("empty %d\n", tree.begin() == tree.end());
}

int main()
{
#pragma omp parallel for schedule(static, 7)
    for (int i = 0; i < 300; i++) {
        std::string text = spell(i);
#pragma omp critical
        {
            names[i] = text;
            words.insert(text.substr(i % 13));
            counts[text.substr(0, 12)]++;
            numbers.push_back(i);
            queue.push_front(i);
        }
    }
    numbers.sort();
    std::sort(queue.begin(), queue.end());
    std::printf("%zu %zu %zu %zu %zu\n", names.size(), words.size(), counts.size(), numbers.size(), queue.size());

    long sum = 0, length = 0, hash = 0;
#pragma omp parallel for reduction(+ : sum, length, hash)
    for (int i = 0; i < 300; i++) {
        length += names.at(i).size() + names.find(i)->second.back();
        sum += counts[names[i].substr(0, 12)] * queue[i];
        hash += words.count(spell(i).substr(i % 13));
    }
    std::printf("%ld %ld %ld\n", sum, length, hash);

    // Each thread takes some nodes out of the common structures, and strings out of the map.
    std::vector<std::string> taken(300);
#pragma omp parallel for schedule(dynamic, 5)
    for (int i = 0; i < 300; i += 2) {
#pragma omp critical
        {
            taken[i] = std::move(names[i]);
            names.erase(i);
            numbers.remove(i);
            counts.erase(spell(i).substr(0, 12));
        }
        taken[i] += "!";
    }
    long left = std::accumulate(numbers.begin(), numbers.end(), 0L);
    std::printf("%zu %ld %zu %s %s\n", names.size(), left, counts.size(), taken[298].c_str(), names[299].c_str());
    numbers.reverse();
    std::list<long> odd{1, 3, 5};
    numbers.splice(std::next(numbers.begin()), odd);
    numbers.swap(odd);
    odd.unique();
    std::printf("%ld %ld %zu %zu\n", odd.front(), *std::next(odd.begin(), 2), odd.size(), numbers.size());

    std::vector<std::vector<double>> rows(20);
#pragma omp parallel for
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 50; j++)
            rows[i].push_back(i + j / 50.0);
    double total = 0;
    for (auto &row : rows)
        total = std::accumulate(row.begin(), row.end(), total);
    std::printf("%.2f\n", total);

    // References are counted from all threads.
    auto object = std::make_shared<std::vector<int>>(10, 4);
    std::vector<std::shared_ptr<std::vector<int>>> copies(200);
#pragma omp parallel for
    for (int i = 0; i < 200; i++)
        copies[i] = object;
#pragma omp parallel for
    for (int i = 0; i < 200; i += 2)
        copies[i].reset();
    std::printf("%ld %d\n", object.use_count(), (*copies[1])[9]);
    tree();
}

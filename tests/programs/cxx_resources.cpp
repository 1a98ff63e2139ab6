// Memory resources of C++17: containers of one thread read and changed by others, the default resource, pools.
//@ flags: -std=c++20
#include <cstdio>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

struct Counting : std::pmr::memory_resource {
    long live = 0;
    void *do_allocate(std::size_t bytes, std::size_t align) override
    {
        #pragma omp critical(counting)
        live += bytes;
        return std::pmr::new_delete_resource()->allocate(bytes, align);
    }
    void do_deallocate(void *p, std::size_t bytes, std::size_t align) override
    {
        #pragma omp critical(counting)
        live -= bytes;
        std::pmr::new_delete_resource()->deallocate(p, bytes, align);
    }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

static Counting counting;
static std::pmr::synchronized_pool_resource together(&counting);

int main()
{
    std::pmr::monotonic_buffer_resource pool;
    std::pmr::vector<long> numbers(&pool);
    for (int i = 0; i < 20000; i++)
        numbers.push_back(i);
    std::pmr::vector<std::pmr::string> words;
    for (int i = 0; i < 100; i++)
        words.emplace_back("a string that does not fit into the object, number " + std::to_string(i));
    std::pmr::unsynchronized_pool_resource own(std::pmr::pool_options{0, 512}, &counting);
    std::pmr::map<int, std::pmr::string> names(&own);
    for (int i = 0; i < 200; i++)
        names.emplace(i * 7 % 200, "a name in a tree of the pool, which is long: " + std::to_string(i));
    for (int i = 0; i < 200; i += 3)
        names.erase(i);
    long sum = 0, length = 0, found = 0, listed = 0;
    #pragma omp parallel for reduction(+ : sum) schedule(static, 100) num_threads(4)
    for (int i = 0; i < 20000; i++)
        sum += numbers[19999 - i];
    #pragma omp parallel for reduction(+ : length, found) schedule(static, 1) num_threads(4)
    for (int i = 0; i < 100; i++) {
        length += words[i].size() + words[i][words[i].size() - 1];
        auto it = names.find(i);
        if (it != names.end())
            found += it->second[it->second.size() - 1];
    }
    #pragma omp parallel num_threads(4) reduction(+ : listed)
    {
        std::pmr::list<std::pmr::string> list(&together);
        #pragma omp for schedule(static)
        for (int i = 0; i < 400; i++) {
            list.emplace_back("an element of a list in a pool for all threads");
            if (i % 3 == 0)
                list.pop_front();
        }
        for (auto &element : list)
            listed += element.size();
    }
    std::pmr::memory_resource *before = std::pmr::set_default_resource(&counting);
    long same = 0;
    #pragma omp parallel reduction(+ : same) num_threads(4)
    same += std::pmr::get_default_resource() == &counting;
    std::pmr::set_default_resource(before);
    names.clear();
    own.release();
    together.release();
    char buffer[256];
    std::pmr::monotonic_buffer_resource small(buffer, sizeof buffer, std::pmr::null_memory_resource());
    bool full = false;
    try {
        for (int i = 0; i < 100; i++)
            (void)small.allocate(16);
    } catch (std::bad_alloc &) {
        full = true;
    }
    std::printf("%ld %ld %ld %ld %ld %d %d %ld\n", sum, length, found, listed, same, before == std::pmr::new_delete_resource(), full, counting.live);
}

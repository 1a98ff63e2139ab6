// std::atomic_load, atomic_store, atomic_exchange and atomic_compare_exchange of std::shared_ptr: no update is lost, every object read is whole, and the
// last reference destroys it.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

static std::atomic<int> alive{0};

struct Version {
    int number;
    std::string text;
    explicit Version(int n) : number(n), text("version number " + std::to_string(n)) { alive++; }
    ~Version() { alive--; }
    bool is_whole() const { return text == "version number " + std::to_string(number); }
};

struct Node {
    int value;
    std::shared_ptr<Node> next;
};

static std::shared_ptr<Version> current, counters[3];
static std::shared_ptr<Node> head;

int main()
{
    constexpr int THREADS = 4, ROUNDS = 1500;
    current = std::make_shared<Version>(0);
    for (auto &counter : counters) counter = std::make_shared<Version>(0);
    long torn = 0, exchanged = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : torn)
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < ROUNDS; i++) {
            if (i % 3 == 0) std::atomic_store(&current, std::make_shared<Version>(i));
            torn += !std::atomic_load(&current)->is_whole();
        }
        // Counters that are replaced, by the strong operation and the weak one.
#pragma omp for schedule(static, 1)
        for (int i = 0; i < ROUNDS; i++) {
            auto &counter = counters[i / THREADS % 3];
            auto old = std::atomic_load_explicit(&counter, std::memory_order_acquire);
            if (i % 2)
                while (!std::atomic_compare_exchange_weak(&counter, &old, std::make_shared<Version>(old->number + 1))) torn += !old->is_whole();
            else
                while (!std::atomic_compare_exchange_strong(&counter, &old, std::make_shared<Version>(old->number + 1))) torn += !old->is_whole();
        }
    }
    std::printf("%ld %d %d %d %d\n", torn, counters[0]->number, counters[1]->number, counters[2]->number, alive.load());

    // What goes in by an exchange comes out of a later one, or stays.
    auto slot = std::make_shared<Version>(0);
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : exchanged)
    for (int i = 1; i <= ROUNDS; i++) exchanged += std::atomic_exchange(&slot, std::make_shared<Version>(i))->number;
    std::printf("%ld %d\n", exchanged + slot->number, alive.load());

    // Tokens change places with the one in the slot, and none is there twice.
    static std::shared_ptr<Version> tokens[THREADS];
    for (int i = 0; i < THREADS; i++) tokens[i] = std::make_shared<Version>(i);
    slot = std::make_shared<Version>(THREADS);
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < 301; k++) tokens[i] = std::atomic_exchange(&slot, std::move(tokens[i]));
    int found = 1 << slot->number;
    for (auto &token : tokens) found |= 1 << token->number;
    std::printf("%d\n", found);
    for (auto &token : tokens) token = nullptr;

    // A list that grows at its head; the two pointers of an exchange are shared in either order.
    static std::shared_ptr<Node> expected[THREADS];
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int i = 0; i < ROUNDS; i++) {
        auto node = std::make_shared<Node>(Node{i, nullptr});
        auto &seen = expected[i % THREADS];
        seen = std::atomic_load(&head);
        do node->next = seen;
        while (!std::atomic_compare_exchange_weak(&head, &seen, node));
    }
    std::vector<int> times(ROUNDS);
    for (auto node = head; node; node = node->next) times[node->value]++;
    int once = 0;
    for (int n : times) once += n == 1;
    std::printf("%d\n", once);
    for (auto &one : expected) one = nullptr;
    while (head) head = std::shared_ptr<Node>(std::move(head->next));

    current = slot = nullptr;
    for (auto &counter : counters) counter = nullptr;
    std::printf("%d\n", alive.load());
}

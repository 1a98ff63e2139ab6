// new and delete in all their forms, by one thread for another.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

struct Node {
    Node *next;
    int value;
    virtual ~Node() = default;
};

struct Leaf : Node {
    double extra[3];
};

struct alignas(256) Wide {
    int values[40];
};

struct Counted {
    static int alive;
    int id = 7;
    Counted()
    {
#pragma omp atomic
        alive++;
    }
    ~Counted()
    {
#pragma omp atomic
        alive--;
    }
};
int Counted::alive;

int main()
{
    constexpr int count = 64;
    std::vector<Node *> nodes(count);
    std::vector<Wide *> wide(count);
    std::vector<Counted *> arrays(count);
    std::vector<void *> raw(count);
#pragma omp parallel for
    for (int i = 0; i < count; i++) {
        auto *leaf = new Leaf;
        leaf->value = i;
        leaf->extra[2] = i / 2.0;
        nodes[i] = leaf;
        wide[i] = new Wide[2];
        wide[i][1].values[39] = i;
        arrays[i] = new Counted[5];
        raw[i] = ::operator new(100, std::nothrow);
        std::memset(raw[i], i, 100);
    }
    std::printf("%d\n", Counted::alive);
    int aligned = 0;
    long sum = 0;
#pragma omp parallel for reduction(+ : aligned, sum)
    for (int j = 0; j < count; j++) {
        int i = count - 1 - j;
        aligned += reinterpret_cast<uintptr_t>(wide[i]) % 256 == 0;
        sum += nodes[i]->value + wide[i][1].values[39] + arrays[i][4].id + static_cast<char *>(raw[i])[99];
        sum += static_cast<long>(dynamic_cast<Leaf &>(*nodes[i]).extra[2]);
        delete nodes[i];
        delete[] wide[i];
        delete[] arrays[i];
        ::operator delete(raw[i]);
    }
    std::printf("%d %ld %d\n", aligned, sum, Counted::alive);

    // The pairs of allocation and deallocation functions.
    auto align = std::align_val_t(128);
    void *a = ::operator new(10), *b = ::operator new[](10), *c = ::operator new(10, align);
    void *d = ::operator new[](10, align), *e = ::operator new[](10, std::nothrow);
    void *f = ::operator new(10, align, std::nothrow), *g = ::operator new[](10, align, std::nothrow);
    std::printf("%d\n", reinterpret_cast<uintptr_t>(c) % 128 + reinterpret_cast<uintptr_t>(d) % 128 +
                                reinterpret_cast<uintptr_t>(f) % 128 + reinterpret_cast<uintptr_t>(g) % 128 ==
                            0);
    ::operator delete(a, 10);
    ::operator delete[](b);
    ::operator delete(c, 10, align);
    ::operator delete[](d, align);
    ::operator delete[](e, std::nothrow);
    ::operator delete(f, align, std::nothrow);
    ::operator delete[](g, align, std::nothrow);

    // Placement needs no memory of its own; arrays of unique pointers free theirs.
    alignas(Leaf) char place[sizeof(Leaf)];
    Node *placed = new (place) Leaf;
    placed->value = 5;
#pragma omp parallel for
    for (int i = 0; i < 10; i++) {
#pragma omp atomic
        placed->value += i;
    }
    std::printf("%d\n", placed->value);
    placed->~Node();
    std::unique_ptr<Counted[]> owned(new Counted[3]);
    std::printf("%d\n", Counted::alive);
    owned.reset();
    std::printf("%d\n", Counted::alive);
    void *old = std::malloc(20);
    std::strcpy(static_cast<char *>(old), "kept");
    old = std::realloc(old, 20000);
    std::printf("%s\n", static_cast<char *>(old));
    std::free(old);
}

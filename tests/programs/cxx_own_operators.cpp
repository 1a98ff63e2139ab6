// Operators new and delete that the program replaces are the ones that all of it uses.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <omp.h>
#include <string>
#include <vector>

static std::atomic<long> made, gone, arrays;

void *operator new(std::size_t n)
{
    made++;
    if (void *p = std::malloc(n)) return p;
    throw std::bad_alloc();
}
void operator delete(void *p) noexcept
{
    if (p) gone++;
    std::free(p);
}
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }
void *operator new[](std::size_t n)
{
    arrays++;
    return operator new(n);
}
void operator delete[](void *p) noexcept
{
    if (p) arrays--;
    operator delete(p);
}
void operator delete[](void *p, std::size_t) noexcept { operator delete[](p); }

struct Node {
    int value;
    std::unique_ptr<Node> next;
};

int main()
{
    std::vector<std::unique_ptr<Node>> lists(16);
    std::vector<std::string> texts(16);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 16; i++) {
        for (int k = 0; k < 10; k++) lists[i] = std::make_unique<Node>(Node{k, std::move(lists[i])});
        texts[i] = "a text that is longer than what fits " + std::to_string(i);
        int *few = new int[10 + i];
        few[i] = i;
        lists[i]->value += few[i];
        delete[] few;
    }
    long sum = 0, length = 0;
    for (auto &list : lists)
        for (Node *n = list.get(); n; n = n->next.get()) sum += n->value;
    for (auto &text : texts) length += text.size();
#pragma omp parallel for num_threads(4) schedule(static, 1)
    for (int i = 0; i < 16; i++) {
        lists[i].reset();
        std::string().swap(texts[i]);
    }
    std::vector<std::unique_ptr<Node>>().swap(lists);
    std::vector<std::string>().swap(texts);
    std::printf("%ld %ld %d %d %ld\n", sum, length, made >= 160 + 16, made == gone, arrays.load());
}

// Conversions that the C++ library makes at run time: dynamic_cast between several and virtual bases, and handlers that catch a base of what
// was thrown. The objects were made by other threads, and are larger than what the conversion is asked of.
#include <cstdio>
#include <memory>
#include <typeinfo>
#include <vector>

struct Named { virtual ~Named() {} long id = 0; long words[200] = {1, 2, 3}; };
struct Drawable { virtual ~Drawable() {} virtual int draw() = 0; };
struct Circle : Named, Drawable { int draw() override { return 1; } };
struct Box : Named, Drawable { int draw() override { return 2; } };

struct Root { virtual ~Root() {} long root = 7; long words[150] = {}; };
struct Left : virtual Root { long left[130] = {1}; };
struct Right : virtual Root { long right[170] = {2}; };
struct Bottom : Left, Right { long bottom = 3; };
struct Deep : Named, Bottom { long deep = 4; };
struct Plain { long no_table[140] = {}; };
struct Mixed : Plain, Deep { long mixed = 5; };

static const int N = 400;

static Drawable *make(int i) { return i & 1 ? static_cast<Drawable *>(new Circle) : new Box; }

static Root *make_root(int i)
{
    switch (i % 4) {
    case 0: return new Left;
    case 1: return new Bottom;
    case 2: return new Deep;
    default: return new Mixed;
    }
}

static long caught(Right *right, int i)
{
    try {
        try {
            if (i % 2)
                throw right;
            if (auto *deep = dynamic_cast<Deep *>(right))
                throw deep;
            throw dynamic_cast<Bottom *>(right);
        } catch (Named *named) {
            return 1000;
        } catch (Root *root) {
            #pragma omp critical
            root->root++;
            throw;
        }
    } catch (Root *root) {
        return root->root > 7;
    }
}

int main()
{
    std::vector<Drawable *> drawables(N);
    std::vector<Root *> roots(N);
    std::vector<std::shared_ptr<Root>> owned(N);
    #pragma omp parallel for schedule(static, 3)
    for (int i = 0; i < N; i++) {
        drawables[i] = make(i);
        roots[i] = make_root(i);
        owned[i] = i % 3 ? std::make_shared<Bottom>() : std::make_shared<Deep>();
    }
    long circles = 0, named = 0, rights = 0, deeps = 0, whole = 0, types = 0, shared = 0, handled = 0, fields = 0;
    #pragma omp parallel for reduction(+ : circles, named, rights, deeps, whole, types, shared, handled, fields) schedule(static, 1)
    for (int j = 0; j < N; j++) {
        int i = N - 1 - j;
        circles += dynamic_cast<Circle *>(drawables[i]) != nullptr;
        if (auto *n = dynamic_cast<Named *>(drawables[i]))
            named += n->words[2];
        if (auto *right = dynamic_cast<Right *>(roots[i])) {
            rights += right->right[0];
            handled += caught(right, i);
            // From one base to another, over the complete object.
            fields += dynamic_cast<Left &>(*right).left[0];
        }
        deeps += dynamic_cast<Deep *>(roots[i]) != nullptr;
        whole += dynamic_cast<void *>(drawables[i]) != static_cast<void *>(drawables[i]);
        Root &root = *roots[i];
        types += typeid(root) == typeid(Mixed);
        try {
            fields += dynamic_cast<Mixed &>(*roots[i]).mixed;
        } catch (std::bad_cast &) {
            fields += 100;
        }
        if (auto deep = std::dynamic_pointer_cast<Deep>(owned[i]))
            shared += deep->deep;
    }
    std::printf("%ld %ld %ld %ld %ld %ld %ld %ld %ld\n", circles, named, rights, deeps, whole, types, shared, handled, fields);
}

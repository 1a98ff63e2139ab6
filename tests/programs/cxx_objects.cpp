// Virtual functions, run-time types, function objects and thread-local objects.
#include <array>
#include <complex>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <typeinfo>
#include <variant>
#include <vector>

struct Shape {
    int id = 0;
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual std::string name() const { return "shape"; }
};

struct Square : virtual Shape {
    double side = 0;
    double area() const override { return side * side; }
    std::string name() const override { return "a square with a name that is rather long"; }
};

struct Tagged : virtual Shape {
    std::string tag;
};

struct TaggedSquare : Square, Tagged {
    std::string name() const override { return Square::name() + tag; }
};

static int made, gone;

struct PerThread {
    int calls = 0;
    std::vector<int> own;
    PerThread() : own(3, 1)
    {
#pragma omp atomic
        made++;
    }
    ~PerThread()
    {
#pragma omp atomic
        gone++;
    }
};

static thread_local PerThread per_thread;
static PerThread everybodys;

using Value = std::variant<int, std::string, std::complex<double>>;

int main()
{
    std::vector<std::unique_ptr<Shape>> shapes(60);
#pragma omp parallel for
    for (int i = 0; i < 60; i++) {
        if (i % 2) {
            auto square = std::make_unique<Square>();
            square->side = i;
            shapes[i] = std::move(square);
        } else {
            auto both = std::make_unique<TaggedSquare>();
            both->side = i;
            both->tag = "-" + std::to_string(i);
            shapes[i] = std::move(both);
        }
        shapes[i]->id = i;
    }
    double area = 0;
    long length = 0;
    int tagged = 0, exact = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : area, length, tagged, exact)
    for (int i = 59; i >= 0; i--) {
        Shape &shape = *shapes[i];
        area += shape.area();
        length += shape.name().size();
        if (auto *with_tag = dynamic_cast<Tagged *>(&shape))
            tagged += with_tag->tag.size();
        exact += typeid(shape) == typeid(Square);
    }
    std::printf("%.1f %ld %d %d\n", area, length, tagged, exact);

    // Function objects and captures by reference.
    std::vector<std::function<int(int)>> functions(16);
    int captured = 3;
#pragma omp parallel for
    for (int i = 0; i < 16; i++) {
        std::array<long, 6> large{i, 1, 2, 3, 4, 5};
        functions[i] = [large, &captured](int x) { return static_cast<int>(large[0] + large[5]) * x + captured; };
    }
    captured = 4;
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 16; i++)
        sum += functions[15 - i](i);
    std::printf("%ld\n", sum);

    // Objects of library types by value.
    std::vector<Value> values(30);
    std::optional<std::string> found;
#pragma omp parallel for
    for (int i = 0; i < 30; i++) {
        switch (i % 3) {
        case 0: values[i] = i; break;
        case 1: values[i] = std::string(i, 'v'); break;
        default: values[i] = std::complex<double>(i, -i);
        }
#pragma omp critical
        if (i == 17)
            found = "seventeen, which is found exactly once";
    }
    double score = 0;
    for (auto &value : values)
        score += std::visit(
            [](auto &v) -> double {
                using T = std::decay_t<decltype(v)>;
                if constexpr (std::is_same_v<T, int>)
                    return v;
                else if constexpr (std::is_same_v<T, std::string>)
                    return v.size();
                else
                    return std::norm(v);
            },
            value);
    auto [a, b] = std::make_tuple(score, found.value_or("nothing"));
    std::printf("%.1f %s\n", a, b.c_str());

    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        per_thread.calls++;
        per_thread.own.push_back(2);
        wrong += per_thread.calls != 1 || per_thread.own.size() != 4;
#pragma omp critical
        everybodys.calls++;
    }
    std::printf("%d %d %d\n", wrong, everybodys.calls == made - 1, gone);
}

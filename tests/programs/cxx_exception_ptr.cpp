// Exceptions go from the thread that threw them to another one, as loops have them that may not leave a region by an exception.
#include <cstdio>
#include <exception>
#include <map>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

static int alive;
struct Shape {
    virtual ~Shape() = default;
    virtual std::string name() const = 0;
};
struct Problem : std::exception, Shape {
    std::string text;
    std::vector<int> places;
    explicit Problem(int i) : text("problem with a text that does not fit into the object " + std::to_string(i)), places(5, i)
    {
#pragma omp atomic
        alive++;
    }
    Problem(const Problem &other) : std::exception(other), text(other.text), places(other.places)
    {
#pragma omp atomic
        alive++;
    }
    ~Problem() override
    {
#pragma omp atomic
        alive--;
    }
    const char *what() const noexcept override { return text.c_str(); }
    std::string name() const override { return "a shape " + std::to_string(places[4]); }
};

static void fail(int i)
{
    switch (i % 5) {
    case 0: throw std::runtime_error("item " + std::to_string(i) + " failed with a long text that is on the heap");
    case 1: throw Problem(i);
    case 2: throw i;
    case 3: throw std::out_of_range("item " + std::to_string(i) + " is out of range");
    default:
        try {
            throw std::logic_error("the inner reason " + std::to_string(i));
        } catch (...) {
            std::throw_with_nested(std::system_error(std::make_error_code(std::errc::timed_out), "outer"));
        }
    }
}

static std::string describe(std::exception_ptr e)
{
    try {
        std::rethrow_exception(e);
    } catch (const Problem &p) {
        return std::string(p.what()) + " is " + p.name();
    } catch (const std::exception &x) {
        std::string text = x.what();
        try {
            std::rethrow_if_nested(x);
        } catch (const std::exception &inner) {
            text += " because of " + std::string(inner.what());
        }
        return text;
    } catch (int i) {
        return "number " + std::to_string(i);
    }
}

int main()
{
    std::vector<std::exception_ptr> caught(20);
#pragma omp parallel for num_threads(4) schedule(static)
    for (int i = 0; i < 20; i++) {
        try {
            fail(i);
        } catch (...) {
            caught[i] = std::current_exception();
        }
    }
    for (auto &e : caught) std::printf("%s\n", describe(e).c_str());
    // Another thread than the one that threw looks at each, several at a time, and copies it.
    std::vector<std::string> texts(20);
    long copies = 0;
#pragma omp parallel for num_threads(4) schedule(static, 1) reduction(+ : copies)
    for (int i = 0; i < 40; i++) {
        std::exception_ptr e = caught[i % 20];
        std::string text = describe(e);
        try {
            std::rethrow_exception(e);
        } catch (std::runtime_error r) {
            copies += std::string(r.what()).size();
        } catch (...) {
        }
#pragma omp critical
        if (texts[i % 20].empty())
            texts[i % 20] = text;
        else if (texts[i % 20] != text)
            copies += 1000000;
    }
    int equal = 0;
    for (int i = 0; i < 20; i++) equal += texts[i] == describe(caught[i]);
    std::printf("%d %ld %d\n", equal, copies, alive);
    // The last reference goes in whatever thread.
#pragma omp parallel for num_threads(4) schedule(static, 3)
    for (int i = 0; i < 20; i++) caught[i] = nullptr;
    std::printf("%d\n", alive);
    std::exception_ptr made, first;
#pragma omp parallel num_threads(4)
    {
        if (omp_get_thread_num() == 3) made = std::make_exception_ptr(std::invalid_argument("made by the last thread"));
#pragma omp barrier
        try {
            std::rethrow_exception(made);
        } catch (...) {
#pragma omp critical
            if (!first) first = std::current_exception();
        }
    }
    std::printf("%s %d\n", describe(first).c_str(), first == made);
}

#pragma once
#include <cstdio>
#include <string>
#include <vector>

// What happens in a region, in order: processes have their own buffers for standard output.
extern std::vector<const char *> events;

// Counts what happens to it, in order.
struct Traced {
    const char *name;
    int value;
    explicit Traced(const char *name, int value) : name(name), value(value) { std::printf("+%s\n", name); }
    ~Traced() { std::printf("-%s %d\n", name, value); }
};

// One for the whole program, whichever file initialises it.
inline Traced folded("inline", 10);

template <class T> struct Table {
    static std::vector<T> entries;
};
template <class T> std::vector<T> Table<T>::entries(100, T(1));

// A static variable of a function that several files have.
inline std::string &label()
{
    static std::string text = [] {
        events.push_back("label made");
        return std::string("a label that does not fit into the object itself");
    }();
    return text;
}

void fill_elsewhere();
long sum_elsewhere();

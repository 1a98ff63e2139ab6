// Memory-based operations for C++ (see dsm_operations.h and the book's chapter on them): typed, and checked when they are compiled.
#ifndef DSM_HPP
#define DSM_HPP

#include <dsm.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dsm {

namespace detail {

template <typename T> struct identity {
    using type = T;
};

/// An argument that decides no type.
template <typename T> using value = typename identity<T>::type;

template <typename T> constexpr bool is_operand()
{
    return std::is_trivially_copyable<T>::value && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
}

template <typename T> constexpr bool is_integer() { return std::is_integral<T>::value && !std::is_same<T, bool>::value; }

template <typename T> std::uint64_t bits(const T &operand)
{
    std::uint64_t out = 0;
    std::memcpy(&out, &operand, sizeof operand);
    return out;
}

template <typename T> T of_bits(std::uint64_t in)
{
    T out;
    std::memcpy(&out, &in, sizeof out);
    return out;
}

template <typename T> void *address(T *place) { return const_cast<void *>(static_cast<const volatile void *>(place)); }

template <typename T> void post(T *place, const T &operand, unsigned code)
{
    static_assert(is_operand<T>(), "memory-based operations have trivially copyable operands of 1, 2, 4 or 8 bytes");
    __dsm_post(address(place), bits(operand), 0, sizeof(T), code);
}

template <typename T> T fetch(T *place, const T &operand, unsigned code)
{
    static_assert(is_operand<T>(), "memory-based operations have trivially copyable operands of 1, 2, 4 or 8 bytes");
    return of_bits<T>(__dsm_fetch(address(place), bits(operand), 0, sizeof(T), code));
}

template <typename T> constexpr unsigned add_code()
{
    static_assert(is_integer<T>() || std::is_same<T, float>::value || std::is_same<T, double>::value,
                  "add is an operation of integers, float and double");
    return std::is_floating_point<T>::value ? DSM_OPERATION_FADD : DSM_OPERATION_ADD;
}

template <typename T> constexpr unsigned code(unsigned of_signed, unsigned of_unsigned)
{
    static_assert(is_integer<T>(), "this is an operation of integers");
    return std::is_signed<T>::value ? of_signed : of_unsigned;
}

} // namespace detail

// Posted operations.
template <typename T> void add(T *place, detail::value<T> operand) { detail::post(place, operand, detail::add_code<T>()); }
template <typename T> void bit_and(T *place, detail::value<T> operand)
{
    detail::post(place, operand, detail::code<T>(DSM_OPERATION_AND, DSM_OPERATION_AND));
}
template <typename T> void bit_or(T *place, detail::value<T> operand)
{
    detail::post(place, operand, detail::code<T>(DSM_OPERATION_OR, DSM_OPERATION_OR));
}
template <typename T> void bit_xor(T *place, detail::value<T> operand)
{
    detail::post(place, operand, detail::code<T>(DSM_OPERATION_XOR, DSM_OPERATION_XOR));
}
template <typename T> void min(T *place, detail::value<T> operand)
{
    detail::post(place, operand, detail::code<T>(DSM_OPERATION_MIN, DSM_OPERATION_UMIN));
}
template <typename T> void max(T *place, detail::value<T> operand)
{
    detail::post(place, operand, detail::code<T>(DSM_OPERATION_MAX, DSM_OPERATION_UMAX));
}
template <typename T> void swap(T *place, detail::value<T> operand) { detail::post(place, operand, DSM_OPERATION_SWAP); }
template <typename T> void cas(T *place, detail::value<T> expected, detail::value<T> operand)
{
    static_assert(detail::is_operand<T>(), "memory-based operations have trivially copyable operands of 1, 2, 4 or 8 bytes");
    __dsm_post(detail::address(place), detail::bits<T>(operand), detail::bits<T>(expected), sizeof(T), DSM_OPERATION_CAS);
}

// Operations that return what the value was.
template <typename T> T fetch_add(T *place, detail::value<T> operand) { return detail::fetch(place, operand, detail::add_code<T>()); }
template <typename T> T fetch_and(T *place, detail::value<T> operand)
{
    return detail::fetch(place, operand, detail::code<T>(DSM_OPERATION_AND, DSM_OPERATION_AND));
}
template <typename T> T fetch_or(T *place, detail::value<T> operand)
{
    return detail::fetch(place, operand, detail::code<T>(DSM_OPERATION_OR, DSM_OPERATION_OR));
}
template <typename T> T fetch_xor(T *place, detail::value<T> operand)
{
    return detail::fetch(place, operand, detail::code<T>(DSM_OPERATION_XOR, DSM_OPERATION_XOR));
}
template <typename T> T fetch_min(T *place, detail::value<T> operand)
{
    return detail::fetch(place, operand, detail::code<T>(DSM_OPERATION_MIN, DSM_OPERATION_UMIN));
}
template <typename T> T fetch_max(T *place, detail::value<T> operand)
{
    return detail::fetch(place, operand, detail::code<T>(DSM_OPERATION_MAX, DSM_OPERATION_UMAX));
}
template <typename T> T fetch_swap(T *place, detail::value<T> operand) { return detail::fetch(place, operand, DSM_OPERATION_SWAP); }
template <typename T> T fetch_cas(T *place, detail::value<T> expected, detail::value<T> operand)
{
    static_assert(detail::is_operand<T>(), "memory-based operations have trivially copyable operands of 1, 2, 4 or 8 bytes");
    return detail::of_bits<T>(__dsm_fetch(detail::address(place), detail::bits<T>(operand), detail::bits<T>(expected), sizeof(T), DSM_OPERATION_CAS));
}

// Ranges of elements.
template <typename T> void read(T *into, const T *from, std::size_t count = 1)
{
    static_assert(std::is_trivially_copyable<T>::value, "ranges are of trivially copyable elements");
    dsm_read(into, from, count * sizeof(T));
}
template <typename T> void write(T *to, const T *from, std::size_t count = 1)
{
    static_assert(std::is_trivially_copyable<T>::value, "ranges are of trivially copyable elements");
    dsm_write(to, from, count * sizeof(T));
}
template <typename T, typename F> void write_flag(T *to, const T *from, std::size_t count, F *flag, detail::value<F> operand)
{
    static_assert(std::is_trivially_copyable<T>::value && detail::is_operand<F>(),
                  "ranges are of trivially copyable elements, flags have 1, 2, 4 or 8 bytes");
    __dsm_write_flag(to, from, count * sizeof(T), detail::address(flag), detail::bits<F>(operand), sizeof(F));
}

inline void fence() { dsm_fence(); }
inline void flush() { dsm_flush(); }

/// What the thread has posted, or a signal.
class handle {
    dsm_handle of_c{};

  public:
    handle() = default;
    explicit handle(dsm_handle of_c) : of_c(of_c) {}
    bool test() const { return dsm_test(of_c) != 0; }
    void wait() const { dsm_wait(of_c); }
};

inline handle posted() { return handle(dsm_posted()); }

/// The posted operations of the thread are one as long as it lives.
class bundle {
  public:
    bundle() { dsm_bundle_begin(); }
    ~bundle() { dsm_bundle_end(); }
    bundle(const bundle &) = delete;
    bundle &operator=(const bundle &) = delete;
};

namespace detail {

template <typename T> constexpr bool is_argument() { return std::is_trivially_copyable<T>::value && sizeof(T) <= 64; }

/// As signals call it; `function` has the types.
template <typename T, typename A, void (*function)(T *, const A &)> void call(void *place, const void *argument, std::size_t) noexcept
{
    A copy;
    std::memcpy(&copy, argument, sizeof copy);
    function(static_cast<T *>(place), copy);
}

} // namespace detail

/// A function void(T *place, const A &argument) that signals may call; made outside of parallel regions.
template <typename T, typename A, void (*body)(T *, const A &)> class function {
    static_assert(detail::is_argument<A>(), "arguments of signals are trivially copyable, of 64 bytes at most");

  public:
    function() { dsm_register(detail::call<T, A, body>); }
    handle signal(T *place, const A &argument) const
    {
        return handle(dsm_signal(detail::address(place), detail::call<T, A, body>, &argument, sizeof argument));
    }
    handle signal_process(int process, const A &argument) const
    {
        return handle(dsm_signal_process(process, detail::call<T, A, body>, &argument, sizeof argument));
    }
};

/// A bounded queue in the memory of the process that makes it, for any thread of any process. It ends with the object.
template <typename T> class fifo {
    static_assert(std::is_trivially_copyable<T>::value && sizeof(T) <= 65536, "elements of queues are trivially copyable, of 65536 bytes at most");
    dsm_fifo *of_c;

  public:
    explicit fifo(std::size_t capacity) : of_c(dsm_fifo_create(capacity, sizeof(T))) {}
    fifo(const fifo &) = delete;
    fifo &operator=(const fifo &) = delete;
    ~fifo()
    {
        if (of_c) dsm_fifo_destroy(of_c);
    }
    /// Whether there was memory for the queue.
    explicit operator bool() const { return of_c != nullptr; }
    /// Whether there was space.
    bool push(const T &element) { return dsm_fifo_push(of_c, &element) == DSM_OK; }
    /// Whether there was an element.
    bool pop(T &element) { return dsm_fifo_pop(of_c, &element) == DSM_OK; }
};

} // namespace dsm

#endif

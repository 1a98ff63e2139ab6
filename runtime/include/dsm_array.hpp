// Relocatable arrays of a type, over the functions of dsm.h.
#ifndef DSM_ARRAY_HPP
#define DSM_ARRAY_HPP

#include <cstddef>
#include <type_traits>

#include "dsm.h"

namespace dsm {

// An array of elements of type T, which are copied byte by byte. Owns the array: it ends with the object.
template <class T>
class array {
    static_assert(std::is_trivially_copyable<T>::value, "elements of a dsm::array are copied byte by byte");

public:
    // `page_bytes`: a power of two from 64 to 1 GiB that holds an element at least.
    explicit array(std::size_t count, std::size_t page_bytes = 65536) : handle_(dsm_array_create(count, sizeof(T), page_bytes)) {}
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    array(array &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    array &operator=(array &&other) noexcept
    {
        dsm_array *mine = handle_;
        handle_ = other.handle_;
        other.handle_ = mine;
        return *this;
    }
    ~array()
    {
        if (handle_)
            dsm_array_destroy(handle_);
    }

    std::size_t size() const { return dsm_array_count(handle_); }

    T get(std::size_t index) const
    {
        T element;
        dsm_array_get(handle_, index, 1, &element);
        return element;
    }
    void get(std::size_t index, std::size_t count, T *into) const { dsm_array_get(handle_, index, count, into); }
    void put(std::size_t index, const T &element) { dsm_array_put(handle_, index, 1, &element); }
    void put(std::size_t index, std::size_t count, const T *from) { dsm_array_put(handle_, index, count, from); }

    // Moves the pages of elements to the caller's process.
    void own(std::size_t index, std::size_t count) { dsm_array_own(handle_, index, count); }
    // The process where an element is, or -1.
    int location(std::size_t index) const { return dsm_array_location(handle_, index); }

    // For functions of dsm.h.
    dsm_array *handle() const { return handle_; }

private:
    dsm_array *handle_;
};

} // namespace dsm

#endif

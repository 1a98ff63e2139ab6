// Lets templates of libstdc++ be instantiated in the program, where they get checks, except those that are
// compiled with checks already. See ../README.md.
#pragma GCC system_header
#include_next <bits/c++config.h>

// Which version of libstdc++ these are compiled of; the directory of the header is for code that is checked in
// the same way.
#if !defined _DSM_INSTANTIATE && __has_include(<bits/dsm_templates.h>)
#include <bits/dsm_templates.h>
// Strings have other members in C++98, and streams have more of them in standards after C++20.
#if _DSM_TEMPLATES_OF == __GLIBCXX__ && _GLIBCXX_USE_CXX11_ABI \
  && __cplusplus >= 201103L && __cplusplus <= 202002L
#define _DSM_COMPILED_STREAMS 1
// C++20 adds members to strings and their streams. libstdc++ instantiates strings, too, where they have assertions.
#if __cplusplus <= 201703L && _GLIBCXX_EXTERN_TEMPLATE > 0
#define _DSM_COMPILED_STRINGS 1
#endif
#endif
#endif

#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 0

// Functions that libstdc++ has compiled and these headers define are inline. runtime/c/libstdcxx_templates.cc has
// them for all, where those of a static library may take their place.
#if defined _DSM_INSTANTIATE && __cplusplus >= 201703L
#define _DSM_INLINE __attribute__((__weak__))
#else
#define _DSM_INLINE inline
#endif

// Numbers to and from text: the library's code for it works on a stream that was made valid, and stores to local variables. See README.md. -*- C++ -*-
#pragma GCC system_header
#include_next <bits/locale_facets.h>
#ifndef _DSM_LOCALE_FACETS_H
#define _DSM_LOCALE_FACETS_H 1

// Does nothing; the compiler makes what it is known to touch valid, a whole stream.
extern "C" void __dsm_ios_base(void*) _GLIBCXX_NOTHROW;

namespace std _GLIBCXX_VISIBILITY(default)
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION
_GLIBCXX_BEGIN_NAMESPACE_LDBL

#define _DSM_PUT(_CharT, _Number) \
  template<> \
    inline num_put<_CharT>::iter_type \
    num_put<_CharT>::put(iter_type __to, ios_base& __io, char_type __fill, _Number __v) const \
    { \
      __dsm_ios_base(&__io); \
      return this->do_put(__to, __io, __fill, __v); \
    }

#define _DSM_GET(_CharT, _Number) \
  template<> \
    inline num_get<_CharT>::iter_type \
    num_get<_CharT>::get(iter_type __in, iter_type __end, ios_base& __io, ios_base::iostate& __err, \
			 _Number& __v) const \
    { \
      ios_base::iostate __own_err = __err; \
      _Number __own = __v; \
      __dsm_ios_base(&__io); \
      __in = this->do_get(__in, __end, __io, __own_err, __own); \
      __err = __own_err; \
      __v = __own; \
      return __in; \
    }

#define _DSM_NUMBERS(_CharT) \
  _DSM_PUT(_CharT, bool) \
  _DSM_PUT(_CharT, long) \
  _DSM_PUT(_CharT, unsigned long) \
  _DSM_PUT(_CharT, long long) \
  _DSM_PUT(_CharT, unsigned long long) \
  _DSM_PUT(_CharT, double) \
  _DSM_PUT(_CharT, long double) \
  _DSM_PUT(_CharT, const void*) \
  _DSM_GET(_CharT, bool) \
  _DSM_GET(_CharT, long) \
  _DSM_GET(_CharT, unsigned short) \
  _DSM_GET(_CharT, unsigned int) \
  _DSM_GET(_CharT, unsigned long) \
  _DSM_GET(_CharT, long long) \
  _DSM_GET(_CharT, unsigned long long) \
  _DSM_GET(_CharT, float) \
  _DSM_GET(_CharT, double) \
  _DSM_GET(_CharT, long double) \
  _DSM_GET(_CharT, void*)

  _DSM_NUMBERS(char)
  _DSM_NUMBERS(wchar_t)

#undef _DSM_NUMBERS
#undef _DSM_GET
#undef _DSM_PUT

_GLIBCXX_END_NAMESPACE_LDBL
_GLIBCXX_END_NAMESPACE_VERSION
} // namespace std

#endif

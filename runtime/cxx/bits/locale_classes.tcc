// What a locale is made of lies where all processes have it. See ../README.md. -*- C++ -*-
#pragma GCC system_header
#ifndef _DSM_LOCALE_CLASSES_TCC
#define _DSM_LOCALE_CLASSES_TCC 1

extern "C" void* __dsm_locale_new(std::size_t);

namespace __dsm
{
  struct _Locale;
}

inline void*
operator new(std::size_t __size, __dsm::_Locale*)
{ return __dsm_locale_new(__size); }

inline void*
operator new[](std::size_t __size, __dsm::_Locale*)
{ return ::operator new[](__size); }

inline void
operator delete(void* __object, __dsm::_Locale*)
{ ::operator delete(__object); }

inline void
operator delete[](void* __object, __dsm::_Locale*)
{ ::operator delete[](__object); }

#define new new ((__dsm::_Locale*)0)
#include_next <bits/locale_classes.tcc>
#undef new

#endif

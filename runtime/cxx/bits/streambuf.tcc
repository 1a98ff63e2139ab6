// Copying from one buffer to another in the program, where it gets checks; what is compiled already is not instantiated. See ../README.md. -*- C++ -*-
#pragma GCC system_header
#include_next <bits/streambuf.tcc>
#ifndef _DSM_STREAMBUF_TCC
#define _DSM_STREAMBUF_TCC 1

#ifdef _DSM_COMPILED_STREAMS
#define _DSM_STREAMBUF extern template
#include <bits/dsm_instances.h>
#else

namespace std _GLIBCXX_VISIBILITY(default)
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION

  // Until one of the buffers has no more, and whether that was `__from`.
  template<>
    _DSM_INLINE streamsize
    __copy_streambufs_eof(streambuf* __from, streambuf* __to, bool& __at_end)
    {
      typedef char_traits<char> __traits;
      streamsize __copied = 0;
      __at_end = true;
      __traits::int_type __c = __from->sgetc();
      while (!__traits::eq_int_type(__c, __traits::eof()))
	{
	  // What is in the buffer, or one character of one without memory.
	  const streamsize __n = __from->egptr() - __from->gptr();
	  if (__n > 1)
	    {
	      const streamsize __taken = __to->sputn(__from->gptr(), __n);
	      __from->__safe_gbump(__taken);
	      __copied += __taken;
	      if (__taken < __n)
		{
		  __at_end = false;
		  break;
		}
	      __c = __from->sgetc();
	    }
	  else
	    {
	      __c = __to->sputc(__traits::to_char_type(__c));
	      if (__traits::eq_int_type(__c, __traits::eof()))
		{
		  __at_end = false;
		  break;
		}
	      ++__copied;
	      __c = __from->snextc();
	    }
	}
      return __copied;
    }

_GLIBCXX_END_NAMESPACE_VERSION
} // namespace std

#endif
#endif

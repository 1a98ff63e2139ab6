// Instances of string and stream templates that programs need not compile: each header declares its part
// (`extern template`), and ../../c/libstdcxx_templates.cc defines all. Macros say which parts are there, and
// what they are. See ../README.md. -*- C++ -*-
#pragma GCC system_header
#if !defined _DSM_INSTANCES_H && !defined _DSM_INSTANTIATE
#define _DSM_INSTANCES_H 1
// This reference makes the linker take the object with the instances out of its archive, also if libstdc++.so, which has them
// without checks, comes first.
extern "C" const char __dsm_templates;
static const char* const __dsm_needs_templates __attribute__((__used__)) = &__dsm_templates;
#endif

namespace std _GLIBCXX_VISIBILITY(default)
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION

#ifdef _DSM_STRING
  _DSM_STRING class basic_string<char>;
#undef _DSM_STRING
#endif

#ifdef _DSM_IOS
  _DSM_IOS class basic_ios<char>;
#undef _DSM_IOS
#endif

#ifdef _DSM_STREAMBUF
  _DSM_STREAMBUF class basic_streambuf<char>;
  _DSM_STREAMBUF streamsize __copy_streambufs(streambuf*, streambuf*);
#undef _DSM_STREAMBUF
#endif

#ifdef _DSM_OSTREAM
  _DSM_OSTREAM class basic_ostream<char>;
  _DSM_OSTREAM ostream& endl(ostream&);
  _DSM_OSTREAM ostream& ends(ostream&);
  _DSM_OSTREAM ostream& flush(ostream&);
  _DSM_OSTREAM ostream& operator<<(ostream&, char);
  _DSM_OSTREAM ostream& operator<<(ostream&, unsigned char);
  _DSM_OSTREAM ostream& operator<<(ostream&, signed char);
  _DSM_OSTREAM ostream& operator<<(ostream&, const char*);
  _DSM_OSTREAM ostream& operator<<(ostream&, const unsigned char*);
  _DSM_OSTREAM ostream& operator<<(ostream&, const signed char*);
  _DSM_OSTREAM ostream& __ostream_insert(ostream&, const char*, streamsize);
  _DSM_OSTREAM ostream& ostream::_M_insert(long);
  _DSM_OSTREAM ostream& ostream::_M_insert(unsigned long);
  _DSM_OSTREAM ostream& ostream::_M_insert(bool);
  _DSM_OSTREAM ostream& ostream::_M_insert(long long);
  _DSM_OSTREAM ostream& ostream::_M_insert(unsigned long long);
  _DSM_OSTREAM ostream& ostream::_M_insert(double);
  _DSM_OSTREAM ostream& ostream::_M_insert(long double);
  _DSM_OSTREAM ostream& ostream::_M_insert(const void*);
#undef _DSM_OSTREAM
#endif

#ifdef _DSM_ISTREAM
  _DSM_ISTREAM class basic_istream<char>;
  _DSM_ISTREAM class basic_iostream<char>;
  _DSM_ISTREAM istream& ws(istream&);
  _DSM_ISTREAM istream& operator>>(istream&, char&);
  _DSM_ISTREAM istream& operator>>(istream&, unsigned char&);
  _DSM_ISTREAM istream& operator>>(istream&, signed char&);
  _DSM_ISTREAM istream& istream::_M_extract(unsigned short&);
  _DSM_ISTREAM istream& istream::_M_extract(unsigned int&);
  _DSM_ISTREAM istream& istream::_M_extract(long&);
  _DSM_ISTREAM istream& istream::_M_extract(unsigned long&);
  _DSM_ISTREAM istream& istream::_M_extract(bool&);
  _DSM_ISTREAM istream& istream::_M_extract(long long&);
  _DSM_ISTREAM istream& istream::_M_extract(unsigned long long&);
  _DSM_ISTREAM istream& istream::_M_extract(float&);
  _DSM_ISTREAM istream& istream::_M_extract(double&);
  _DSM_ISTREAM istream& istream::_M_extract(long double&);
  _DSM_ISTREAM istream& istream::_M_extract(void*&);
#undef _DSM_ISTREAM
#endif

#ifdef _DSM_FSTREAM
  _DSM_FSTREAM class basic_filebuf<char>;
  _DSM_FSTREAM class basic_ifstream<char>;
  _DSM_FSTREAM class basic_ofstream<char>;
  _DSM_FSTREAM class basic_fstream<char>;
#undef _DSM_FSTREAM
#endif

#ifdef _DSM_SSTREAM
  // Members of a namespace of its own, which holds what the ABI of GCC 5 has changed.
  _DSM_SSTREAM class basic_stringbuf<char>;
  _DSM_SSTREAM class basic_istringstream<char>;
  _DSM_SSTREAM class basic_ostringstream<char>;
  _DSM_SSTREAM class basic_stringstream<char>;
#undef _DSM_SSTREAM
#endif

_GLIBCXX_END_NAMESPACE_VERSION
} // namespace std

#ifdef _DSM_STDIO
_DSM_STDIO class __gnu_cxx::stdio_sync_filebuf<char>;
_DSM_STDIO class __gnu_cxx::stdio_filebuf<char>;
#undef _DSM_STDIO
#endif

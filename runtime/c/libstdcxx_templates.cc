// String and stream templates of libstdc++, compiled with checks once for all programs. See ../cxx/README.md.
//
// The driver compiles it with _DSM_INSTANTIATE, by which the headers define everything here: as C++17, and as C++14
// for members that are templates since C++17.
#ifndef _DSM_INSTANTIATE
#error "compile with -D_DSM_INSTANTIATE"
#endif

#include <streambuf>
#include <string>

#define _DSM_STRING template
#define _DSM_STREAMBUF template

#if __cplusplus >= 201703L
#include <ext/stdio_filebuf.h>
#include <ext/stdio_sync_filebuf.h>
#include <fstream>
#include <istream>
#include <ostream>
#include <sstream>

#define _DSM_IOS template
#define _DSM_OSTREAM template
#define _DSM_ISTREAM template
#define _DSM_FSTREAM template
#define _DSM_SSTREAM template
#define _DSM_STDIO template

// Objects that need this one refer to it. A program may have it twice, by a library that was linked by hand.
extern "C" const char __dsm_templates;
const char __dsm_templates __attribute__((__weak__)) = 0;
#endif

#include <bits/dsm_instances.h>

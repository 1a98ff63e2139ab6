// Lets templates of libstdc++ be instantiated in the program, where they get checks. See ../README.md.
#pragma GCC system_header
#include_next <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 0

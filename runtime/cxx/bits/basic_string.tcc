// What is compiled already is not instantiated in the program. See ../README.md. -*- C++ -*-
#pragma GCC system_header
#include_next <bits/basic_string.tcc>
#ifdef _DSM_COMPILED_STRINGS
#define _DSM_STRING extern template
#include <bits/dsm_instances.h>
#endif

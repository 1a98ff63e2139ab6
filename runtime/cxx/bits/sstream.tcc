// What is compiled already is not instantiated in the program. See ../README.md. -*- C++ -*-
#pragma GCC system_header
#include_next <bits/sstream.tcc>
#ifdef _DSM_COMPILED_STRINGS
#define _DSM_SSTREAM extern template
#include <bits/dsm_instances.h>
#endif

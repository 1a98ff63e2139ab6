// What is compiled already is not instantiated in the program. See ../README.md. -*- C++ -*-
#pragma GCC system_header
#include_next <bits/basic_ios.tcc>
#ifdef _DSM_COMPILED_STREAMS
#define _DSM_IOS extern template
#include <bits/dsm_instances.h>
#endif

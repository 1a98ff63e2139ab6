// Linking of std::list in the program, where it gets checks. See ../README.md.
#pragma GCC system_header
#include_next <bits/stl_list.h>
#ifndef _DSM_STL_LIST_H
#define _DSM_STL_LIST_H 1

namespace std _GLIBCXX_VISIBILITY(default)
{
namespace __detail
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION

  // Puts this node before `__next`.
  inline void
  _List_node_base::_M_hook(_List_node_base* const __next) _GLIBCXX_USE_NOEXCEPT
  {
    _List_node_base* const __prev = __next->_M_prev;
    _M_next = __next;
    _M_prev = __prev;
    __prev->_M_next = this;
    __next->_M_prev = this;
  }

  inline void
  _List_node_base::_M_unhook() _GLIBCXX_USE_NOEXCEPT
  {
    _M_prev->_M_next = _M_next;
    _M_next->_M_prev = _M_prev;
  }

  // Moves the nodes [__first, __last) before this node.
  inline void
  _List_node_base::_M_transfer(_List_node_base* const __first,
			       _List_node_base* const __last) _GLIBCXX_USE_NOEXCEPT
  {
    if (this == __last || __first == __last)
      return;
    _List_node_base* const __back = __last->_M_prev;
    // Out of where they are ...
    __first->_M_prev->_M_next = __last;
    __last->_M_prev = __first->_M_prev;
    // ... and in here.
    _M_prev->_M_next = __first;
    __first->_M_prev = _M_prev;
    __back->_M_next = this;
    _M_prev = __back;
  }

  inline void
  _List_node_base::_M_reverse() _GLIBCXX_USE_NOEXCEPT
  {
    _List_node_base* __node = this;
    do
      {
	_List_node_base* const __next = __node->_M_next;
	__node->_M_next = __node->_M_prev;
	__node->_M_prev = __next;
	__node = __next;
      }
    while (__node != this);
  }

  inline void
  _List_node_base::swap(_List_node_base& __x, _List_node_base& __y) _GLIBCXX_USE_NOEXCEPT
  {
    // A head without nodes points to itself, which the exchange of the pointers alone would not keep.
    const bool __x_empty = __x._M_next == &__x, __y_empty = __y._M_next == &__y;
    _List_node_base* const __x_next = __x._M_next;
    _List_node_base* const __x_prev = __x._M_prev;
    __x._M_next = __y_empty ? &__x : __y._M_next;
    __x._M_prev = __y_empty ? &__x : __y._M_prev;
    __y._M_next = __x_empty ? &__y : __x_next;
    __y._M_prev = __x_empty ? &__y : __x_prev;
    __x._M_next->_M_prev = __x._M_prev->_M_next = &__x;
    __y._M_next->_M_prev = __y._M_prev->_M_next = &__y;
  }

_GLIBCXX_END_NAMESPACE_VERSION
} // namespace __detail
} // namespace std

#endif

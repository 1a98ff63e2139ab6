// The red-black tree of std::map and std::set in the program, where it gets checks. See ../README.md.
//
// The header node's parent is the root, its left and right are the first and the last node; it is red, the root black.
#pragma GCC system_header
#include_next <bits/stl_tree.h>
#ifndef _DSM_STL_TREE_H
#define _DSM_STL_TREE_H 1

namespace std _GLIBCXX_VISIBILITY(default)
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION

  inline _Rb_tree_node_base*
  _Rb_tree_increment(_Rb_tree_node_base* __x) _GLIBCXX_USE_NOEXCEPT
  {
    if (__x->_M_right)
      {
	__x = __x->_M_right;
	while (__x->_M_left)
	  __x = __x->_M_left;
	return __x;
      }
    _Rb_tree_node_base* __up = __x->_M_parent;
    while (__x == __up->_M_right)
      {
	__x = __up;
	__up = __up->_M_parent;
      }
    // From the last node, if that is the root, the climb has gone through the header and back to the root.
    return __x->_M_right == __up ? __x : __up;
  }

  inline const _Rb_tree_node_base*
  _Rb_tree_increment(const _Rb_tree_node_base* __x) _GLIBCXX_USE_NOEXCEPT
  { return std::_Rb_tree_increment(const_cast<_Rb_tree_node_base*>(__x)); }

  inline _Rb_tree_node_base*
  _Rb_tree_decrement(_Rb_tree_node_base* __x) _GLIBCXX_USE_NOEXCEPT
  {
    // The header is red and its parent's parent; the root is that, too, but black.
    if (__x->_M_color == _S_red && __x->_M_parent->_M_parent == __x)
      return __x->_M_right;
    if (__x->_M_left)
      {
	__x = __x->_M_left;
	while (__x->_M_right)
	  __x = __x->_M_right;
	return __x;
      }
    _Rb_tree_node_base* __up = __x->_M_parent;
    while (__x == __up->_M_left)
      {
	__x = __up;
	__up = __up->_M_parent;
      }
    return __up;
  }

  inline const _Rb_tree_node_base*
  _Rb_tree_decrement(const _Rb_tree_node_base* __x) _GLIBCXX_USE_NOEXCEPT
  { return std::_Rb_tree_decrement(const_cast<_Rb_tree_node_base*>(__x)); }

  // Puts `__new` where its parent has `__old`.
  inline void
  __dsm_tree_replace(_Rb_tree_node_base* __old, _Rb_tree_node_base* __new,
		     _Rb_tree_node_base& __header)
  {
    _Rb_tree_node_base* const __up = __old->_M_parent;
    if (__header._M_parent == __old)
      __header._M_parent = __new;
    else if (__up->_M_left == __old)
      __up->_M_left = __new;
    else
      __up->_M_right = __new;
  }

  // Turns `__x` and its right (or left) child, which takes its place.
  inline void
  __dsm_tree_rotate(_Rb_tree_node_base* __x, bool __left, _Rb_tree_node_base& __header)
  {
    _Rb_tree_node_base* const __y = __left ? __x->_M_right : __x->_M_left;
    _Rb_tree_node_base* const __middle = __left ? __y->_M_left : __y->_M_right;
    (__left ? __x->_M_right : __x->_M_left) = __middle;
    if (__middle)
      __middle->_M_parent = __x;
    __dsm_tree_replace(__x, __y, __header);
    __y->_M_parent = __x->_M_parent;
    (__left ? __y->_M_left : __y->_M_right) = __x;
    __x->_M_parent = __y;
  }

  inline void
  _Rb_tree_insert_and_rebalance(const bool __insert_left, _Rb_tree_node_base* __x,
				_Rb_tree_node_base* __p,
				_Rb_tree_node_base& __header) _GLIBCXX_USE_NOEXCEPT
  {
    __x->_M_parent = __p;
    __x->_M_left = 0;
    __x->_M_right = 0;
    __x->_M_color = _S_red;
    if (__insert_left)
      {
	// For the first node this sets the header's left.
	__p->_M_left = __x;
	if (__p == &__header)
	  {
	    __header._M_parent = __x;
	    __header._M_right = __x;
	  }
	else if (__p == __header._M_left)
	  __header._M_left = __x;
      }
    else
      {
	__p->_M_right = __x;
	if (__p == __header._M_right)
	  __header._M_right = __x;
      }
    // Only a red parent of the red `__x` may be wrong; a red parent is not the root.
    while (__x != __header._M_parent && __x->_M_parent->_M_color == _S_red)
      {
	_Rb_tree_node_base* __up = __x->_M_parent;
	_Rb_tree_node_base* const __top = __up->_M_parent;
	const bool __left = __up == __top->_M_left;
	_Rb_tree_node_base* const __uncle = __left ? __top->_M_right : __top->_M_left;
	if (__uncle && __uncle->_M_color == _S_red)
	  {
	    __up->_M_color = _S_black;
	    __uncle->_M_color = _S_black;
	    __top->_M_color = _S_red;
	    __x = __top;
	    continue;
	  }
	if (__x == (__left ? __up->_M_right : __up->_M_left))
	  {
	    __dsm_tree_rotate(__up, __left, __header);
	    __up = __x;
	  }
	__up->_M_color = _S_black;
	__top->_M_color = _S_red;
	__dsm_tree_rotate(__top, !__left, __header);
	break;
      }
    __header._M_parent->_M_color = _S_black;
  }

  // One black node is missing on the way to `__x`, which may be null, below `__up`.
  inline void
  __dsm_tree_add_black(_Rb_tree_node_base* __x, _Rb_tree_node_base* __up,
		       _Rb_tree_node_base& __header)
  {
    while (__x != __header._M_parent && (!__x || __x->_M_color == _S_black))
      {
	const bool __left = __x == __up->_M_left;
	_Rb_tree_node_base* __w = __left ? __up->_M_right : __up->_M_left;
	if (__w->_M_color == _S_red)
	  {
	    __w->_M_color = _S_black;
	    __up->_M_color = _S_red;
	    __dsm_tree_rotate(__up, __left, __header);
	    __w = __left ? __up->_M_right : __up->_M_left;
	  }
	_Rb_tree_node_base* const __near = __left ? __w->_M_left : __w->_M_right;
	_Rb_tree_node_base* __far = __left ? __w->_M_right : __w->_M_left;
	const bool __near_red = __near && __near->_M_color == _S_red;
	if (!__near_red && !(__far && __far->_M_color == _S_red))
	  {
	    __w->_M_color = _S_red;
	    __x = __up;
	    __up = __up->_M_parent;
	    continue;
	  }
	if (!(__far && __far->_M_color == _S_red))
	  {
	    __near->_M_color = _S_black;
	    __w->_M_color = _S_red;
	    __dsm_tree_rotate(__w, !__left, __header);
	    __far = __w;
	    __w = __near;
	  }
	__w->_M_color = __up->_M_color;
	__up->_M_color = _S_black;
	__far->_M_color = _S_black;
	__dsm_tree_rotate(__up, __left, __header);
	break;
      }
    if (__x)
      __x->_M_color = _S_black;
  }

  // Takes `__z` out of the tree and returns it.
  inline _Rb_tree_node_base*
  _Rb_tree_rebalance_for_erase(_Rb_tree_node_base* const __z,
			       _Rb_tree_node_base& __header) _GLIBCXX_USE_NOEXCEPT
  {
    if (__z == __header._M_left)
      __header._M_left = __z->_M_right ? _Rb_tree_node_base::_S_minimum(__z->_M_right) : __z->_M_parent;
    if (__z == __header._M_right)
      __header._M_right = __z->_M_left ? _Rb_tree_node_base::_S_maximum(__z->_M_left) : __z->_M_parent;
    _Rb_tree_node_base* __x;
    _Rb_tree_node_base* __up;
    _Rb_tree_color __lost;
    if (__z->_M_left && __z->_M_right)
      {
	// The next node, which has no left child, takes the place and the colour of `__z`.
	_Rb_tree_node_base* const __y = _Rb_tree_node_base::_S_minimum(__z->_M_right);
	__lost = __y->_M_color;
	__x = __y->_M_right;
	__up = __y;
	if (__y != __z->_M_right)
	  {
	    __up = __y->_M_parent;
	    __up->_M_left = __x;
	    if (__x)
	      __x->_M_parent = __up;
	    __y->_M_right = __z->_M_right;
	    __y->_M_right->_M_parent = __y;
	  }
	__y->_M_left = __z->_M_left;
	__y->_M_left->_M_parent = __y;
	__dsm_tree_replace(__z, __y, __header);
	__y->_M_parent = __z->_M_parent;
	__y->_M_color = __z->_M_color;
      }
    else
      {
	__lost = __z->_M_color;
	__x = __z->_M_left ? __z->_M_left : __z->_M_right;
	__up = __z->_M_parent;
	if (__x)
	  __x->_M_parent = __up;
	__dsm_tree_replace(__z, __x, __header);
      }
    if (__lost == _S_black)
      __dsm_tree_add_black(__x, __up, __header);
    return __z;
  }

_GLIBCXX_END_NAMESPACE_VERSION
} // namespace std

#endif

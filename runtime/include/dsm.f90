! Memory-based operations for Fortran: `use dsm`. See dsm_operations.h and the book's chapter on them.
!
! Variables that they change are to have the attribute `target` or `volatile`: posted operations are executed after the call.
module dsm
  use, intrinsic :: iso_c_binding
  implicit none
  private

  ! Posted operations.
  interface dsm_add
    subroutine dsm_add_i4(place, operand) bind(c, name='__dsm_add_i4')
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
    end subroutine
    subroutine dsm_add_i8(place, operand) bind(c, name='__dsm_add_i8')
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
    end subroutine
    subroutine dsm_add_r4(place, operand) bind(c, name='__dsm_add_r4')
      import
      real(c_float), intent(inout), target :: place
      real(c_float), value :: operand
    end subroutine
    subroutine dsm_add_r8(place, operand) bind(c, name='__dsm_add_r8')
      import
      real(c_double), intent(inout), target :: place
      real(c_double), value :: operand
    end subroutine
  end interface
  public :: dsm_add

  interface dsm_and
    subroutine dsm_and_i4(place, operand) bind(c, name='__dsm_and_i4')
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
    end subroutine
    subroutine dsm_and_i8(place, operand) bind(c, name='__dsm_and_i8')
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
    end subroutine
  end interface
  public :: dsm_and

  interface dsm_or
    subroutine dsm_or_i4(place, operand) bind(c, name='__dsm_or_i4')
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
    end subroutine
    subroutine dsm_or_i8(place, operand) bind(c, name='__dsm_or_i8')
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
    end subroutine
  end interface
  public :: dsm_or

  interface dsm_xor
    subroutine dsm_xor_i4(place, operand) bind(c, name='__dsm_xor_i4')
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
    end subroutine
    subroutine dsm_xor_i8(place, operand) bind(c, name='__dsm_xor_i8')
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
    end subroutine
  end interface
  public :: dsm_xor

  interface dsm_min
    subroutine dsm_min_i4(place, operand) bind(c, name='__dsm_min_i4')
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
    end subroutine
    subroutine dsm_min_i8(place, operand) bind(c, name='__dsm_min_i8')
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
    end subroutine
  end interface
  public :: dsm_min

  interface dsm_max
    subroutine dsm_max_i4(place, operand) bind(c, name='__dsm_max_i4')
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
    end subroutine
    subroutine dsm_max_i8(place, operand) bind(c, name='__dsm_max_i8')
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
    end subroutine
  end interface
  public :: dsm_max

  interface dsm_swap
    subroutine dsm_swap_i4(place, operand) bind(c, name='__dsm_swap_i4')
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
    end subroutine
    subroutine dsm_swap_i8(place, operand) bind(c, name='__dsm_swap_i8')
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
    end subroutine
    subroutine dsm_swap_r4(place, operand) bind(c, name='__dsm_swap_r4')
      import
      real(c_float), intent(inout), target :: place
      real(c_float), value :: operand
    end subroutine
    subroutine dsm_swap_r8(place, operand) bind(c, name='__dsm_swap_r8')
      import
      real(c_double), intent(inout), target :: place
      real(c_double), value :: operand
    end subroutine
  end interface
  public :: dsm_swap

  interface dsm_cas
    subroutine dsm_cas_i4(place, expected, operand) bind(c, name='__dsm_cas_i4')
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: expected, operand
    end subroutine
    subroutine dsm_cas_i8(place, expected, operand) bind(c, name='__dsm_cas_i8')
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: expected, operand
    end subroutine
    subroutine dsm_cas_r4(place, expected, operand) bind(c, name='__dsm_cas_r4')
      import
      real(c_float), intent(inout), target :: place
      real(c_float), value :: expected, operand
    end subroutine
    subroutine dsm_cas_r8(place, expected, operand) bind(c, name='__dsm_cas_r8')
      import
      real(c_double), intent(inout), target :: place
      real(c_double), value :: expected, operand
    end subroutine
  end interface
  public :: dsm_cas

  ! Operations that return what the value was.
  interface dsm_fetch_add
    function dsm_fetch_add_i4(place, operand) bind(c, name='__dsm_fetch_add_i4') result(old)
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
      integer(c_int32_t) :: old
    end function
    function dsm_fetch_add_i8(place, operand) bind(c, name='__dsm_fetch_add_i8') result(old)
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
      integer(c_int64_t) :: old
    end function
    function dsm_fetch_add_r4(place, operand) bind(c, name='__dsm_fetch_add_r4') result(old)
      import
      real(c_float), intent(inout), target :: place
      real(c_float), value :: operand
      real(c_float) :: old
    end function
    function dsm_fetch_add_r8(place, operand) bind(c, name='__dsm_fetch_add_r8') result(old)
      import
      real(c_double), intent(inout), target :: place
      real(c_double), value :: operand
      real(c_double) :: old
    end function
  end interface
  public :: dsm_fetch_add

  interface dsm_fetch_and
    function dsm_fetch_and_i4(place, operand) bind(c, name='__dsm_fetch_and_i4') result(old)
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
      integer(c_int32_t) :: old
    end function
    function dsm_fetch_and_i8(place, operand) bind(c, name='__dsm_fetch_and_i8') result(old)
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
      integer(c_int64_t) :: old
    end function
  end interface
  public :: dsm_fetch_and

  interface dsm_fetch_or
    function dsm_fetch_or_i4(place, operand) bind(c, name='__dsm_fetch_or_i4') result(old)
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
      integer(c_int32_t) :: old
    end function
    function dsm_fetch_or_i8(place, operand) bind(c, name='__dsm_fetch_or_i8') result(old)
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
      integer(c_int64_t) :: old
    end function
  end interface
  public :: dsm_fetch_or

  interface dsm_fetch_xor
    function dsm_fetch_xor_i4(place, operand) bind(c, name='__dsm_fetch_xor_i4') result(old)
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
      integer(c_int32_t) :: old
    end function
    function dsm_fetch_xor_i8(place, operand) bind(c, name='__dsm_fetch_xor_i8') result(old)
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
      integer(c_int64_t) :: old
    end function
  end interface
  public :: dsm_fetch_xor

  interface dsm_fetch_min
    function dsm_fetch_min_i4(place, operand) bind(c, name='__dsm_fetch_min_i4') result(old)
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
      integer(c_int32_t) :: old
    end function
    function dsm_fetch_min_i8(place, operand) bind(c, name='__dsm_fetch_min_i8') result(old)
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
      integer(c_int64_t) :: old
    end function
  end interface
  public :: dsm_fetch_min

  interface dsm_fetch_max
    function dsm_fetch_max_i4(place, operand) bind(c, name='__dsm_fetch_max_i4') result(old)
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
      integer(c_int32_t) :: old
    end function
    function dsm_fetch_max_i8(place, operand) bind(c, name='__dsm_fetch_max_i8') result(old)
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
      integer(c_int64_t) :: old
    end function
  end interface
  public :: dsm_fetch_max

  interface dsm_fetch_swap
    function dsm_fetch_swap_i4(place, operand) bind(c, name='__dsm_fetch_swap_i4') result(old)
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: operand
      integer(c_int32_t) :: old
    end function
    function dsm_fetch_swap_i8(place, operand) bind(c, name='__dsm_fetch_swap_i8') result(old)
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: operand
      integer(c_int64_t) :: old
    end function
    function dsm_fetch_swap_r4(place, operand) bind(c, name='__dsm_fetch_swap_r4') result(old)
      import
      real(c_float), intent(inout), target :: place
      real(c_float), value :: operand
      real(c_float) :: old
    end function
    function dsm_fetch_swap_r8(place, operand) bind(c, name='__dsm_fetch_swap_r8') result(old)
      import
      real(c_double), intent(inout), target :: place
      real(c_double), value :: operand
      real(c_double) :: old
    end function
  end interface
  public :: dsm_fetch_swap

  interface dsm_fetch_cas
    function dsm_fetch_cas_i4(place, expected, operand) bind(c, name='__dsm_fetch_cas_i4') result(old)
      import
      integer(c_int32_t), intent(inout), target :: place
      integer(c_int32_t), value :: expected, operand
      integer(c_int32_t) :: old
    end function
    function dsm_fetch_cas_i8(place, expected, operand) bind(c, name='__dsm_fetch_cas_i8') result(old)
      import
      integer(c_int64_t), intent(inout), target :: place
      integer(c_int64_t), value :: expected, operand
      integer(c_int64_t) :: old
    end function
    function dsm_fetch_cas_r4(place, expected, operand) bind(c, name='__dsm_fetch_cas_r4') result(old)
      import
      real(c_float), intent(inout), target :: place
      real(c_float), value :: expected, operand
      real(c_float) :: old
    end function
    function dsm_fetch_cas_r8(place, expected, operand) bind(c, name='__dsm_fetch_cas_r8') result(old)
      import
      real(c_double), intent(inout), target :: place
      real(c_double), value :: expected, operand
      real(c_double) :: old
    end function
  end interface
  public :: dsm_fetch_cas

  ! What the thread has posted, or a signal.
  type, bind(c) :: dsm_handle
    integer(c_int64_t) :: what = 0, number = 0
  end type
  public :: dsm_handle

  interface
    subroutine dsm_posted(handle) bind(c, name='__dsm_fortran_posted')
      import
      type(dsm_handle), intent(out) :: handle
    end subroutine
    ! Not 0 if it is executed.
    function dsm_test(handle) bind(c, name='__dsm_fortran_test') result(done)
      import
      type(dsm_handle), intent(in) :: handle
      integer(c_int) :: done
    end function
    subroutine dsm_wait(handle) bind(c, name='__dsm_fortran_wait')
      import
      type(dsm_handle), intent(in) :: handle
    end subroutine
    subroutine dsm_bundle_begin() bind(c, name='dsm_bundle_begin')
    end subroutine
    subroutine dsm_bundle_end() bind(c, name='dsm_bundle_end')
    end subroutine
    ! A subroutine that signals may call: bind(c), with arguments (place, argument, bytes), of type(c_ptr) and integer(c_size_t), by value.
    subroutine dsm_register(function) bind(c, name='dsm_register')
      import
      type(c_funptr), value :: function
    end subroutine
    subroutine dsm_signal(place, function, argument, bytes, handle) bind(c, name='__dsm_fortran_signal')
      import
      type(*), intent(inout), target :: place(*)
      type(c_funptr), value :: function
      type(*), intent(in), target :: argument(*)
      integer(c_size_t), value :: bytes
      type(dsm_handle), intent(out) :: handle
    end subroutine
    subroutine dsm_signal_process(process, function, argument, bytes, handle) bind(c, name='__dsm_fortran_signal_process')
      import
      integer(c_int), value :: process
      type(c_funptr), value :: function
      type(*), intent(in), target :: argument(*)
      integer(c_size_t), value :: bytes
      type(dsm_handle), intent(out) :: handle
    end subroutine
  end interface
  public :: dsm_posted, dsm_test, dsm_wait, dsm_bundle_begin, dsm_bundle_end, dsm_register, dsm_signal, dsm_signal_process

  interface
    ! Orders what the thread posts; waits until that is executed.
    subroutine dsm_fence() bind(c, name='dsm_fence')
    end subroutine
    subroutine dsm_flush() bind(c, name='dsm_flush')
    end subroutine
    ! Reads `bytes` bytes from where they are; posts a store of them.
    subroutine dsm_read(into, from, bytes) bind(c, name='dsm_read')
      import
      type(*), intent(inout), target :: into(*)
      type(*), intent(in), target :: from(*)
      integer(c_size_t), value :: bytes
    end subroutine
    subroutine dsm_write(to, from, bytes) bind(c, name='dsm_write')
      import
      type(*), intent(inout), target :: to(*)
      type(*), intent(in), target :: from(*)
      integer(c_size_t), value :: bytes
    end subroutine
  end interface
  public :: dsm_fence, dsm_flush, dsm_read, dsm_write

  ! Posts a store of `bytes` bytes, and then one to a flag.
  interface dsm_write_flag
    subroutine dsm_write_flag_i4(to, from, bytes, flag, operand) bind(c, name='__dsm_write_flag_i4')
      import
      type(*), intent(inout), target :: to(*)
      type(*), intent(in), target :: from(*)
      integer(c_size_t), value :: bytes
      integer(c_int32_t), intent(inout), target :: flag
      integer(c_int32_t), value :: operand
    end subroutine
    subroutine dsm_write_flag_i8(to, from, bytes, flag, operand) bind(c, name='__dsm_write_flag_i8')
      import
      type(*), intent(inout), target :: to(*)
      type(*), intent(in), target :: from(*)
      integer(c_size_t), value :: bytes
      integer(c_int64_t), intent(inout), target :: flag
      integer(c_int64_t), value :: operand
    end subroutine
  end interface
  public :: dsm_write_flag

  ! Queues: a handle, null if memory is exhausted. A push and a pop return one of the codes.
  integer(c_int), parameter, public :: dsm_ok = 0, dsm_full = 5, dsm_empty = 6
  interface
    function dsm_fifo_create(capacity, element_bytes) bind(c, name='dsm_fifo_create') result(queue)
      import
      integer(c_size_t), value :: capacity, element_bytes
      type(c_ptr) :: queue
    end function
    subroutine dsm_fifo_destroy(queue) bind(c, name='dsm_fifo_destroy')
      import
      type(c_ptr), value :: queue
    end subroutine
    function dsm_fifo_push(queue, element) bind(c, name='dsm_fifo_push') result(code)
      import
      type(c_ptr), value :: queue
      type(*), intent(in), target :: element(*)
      integer(c_int) :: code
    end function
    function dsm_fifo_pop(queue, element) bind(c, name='dsm_fifo_pop') result(code)
      import
      type(c_ptr), value :: queue
      type(*), intent(inout), target :: element(*)
      integer(c_int) :: code
    end function
  end interface
  public :: dsm_fifo_create, dsm_fifo_destroy, dsm_fifo_push, dsm_fifo_pop
end module dsm

! Relocatable arrays for Fortran, over the functions of dsm.h: `use dsm_arrays`. Indices of elements begin with 0, as in C; memory that elements are copied to or from is passed by
! c_loc.
module dsm_arrays
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_size_t
  implicit none
  private
  public :: dsm_array_create, dsm_array_destroy, dsm_array_get, dsm_array_put, dsm_array_own, dsm_array_location, dsm_array_count, &
            dsm_process, dsm_processes, dsm_place

  interface
    function dsm_array_create(count, element_bytes, page_bytes) result(array) bind(c)
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: count, element_bytes, page_bytes
      type(c_ptr) :: array
    end function

    subroutine dsm_array_destroy(array) bind(c)
      import :: c_ptr
      type(c_ptr), value :: array
    end subroutine

    subroutine dsm_array_get(array, index, count, into) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: array, into
      integer(c_size_t), value :: index, count
    end subroutine

    subroutine dsm_array_put(array, index, count, from) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: array, from
      integer(c_size_t), value :: index, count
    end subroutine

    subroutine dsm_array_own(array, index, count) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_size_t), value :: index, count
    end subroutine

    function dsm_array_location(array, index) result(process) bind(c)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_size_t), value :: index
      integer(c_int) :: process
    end function

    function dsm_array_count(array) result(count) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: array
      integer(c_size_t) :: count
    end function

    function dsm_process() result(process) bind(c)
      import :: c_int
      integer(c_int) :: process
    end function

    function dsm_processes() result(processes) bind(c)
      import :: c_int
      integer(c_int) :: processes
    end function

    subroutine dsm_place(pointer, bytes, process) bind(c)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: pointer
      integer(c_size_t), value :: bytes
      integer(c_int), value :: process
    end subroutine
  end interface
end module

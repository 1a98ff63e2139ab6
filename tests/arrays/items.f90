! The module for relocatable arrays: items of a derived type.
program items
  use, intrinsic :: iso_c_binding
  use dsm_arrays
  implicit none
  type, bind(c) :: item
    integer(c_long) :: number
    real(c_double) :: value
  end type
  integer(c_size_t), parameter :: n = 2000
  type(c_ptr) :: array
  type(item), target :: one, several(10)
  integer(c_size_t) :: i, k
  integer :: wrong

  array = dsm_array_create(n, c_sizeof(one), 4096_c_size_t)
  wrong = 0
  if (dsm_array_count(array) /= n) wrong = 1
  !$omp parallel do private(one)
  do i = 0, n - 1
    one%number = i
    one%value = 0.25d0 * i
    call dsm_array_put(array, i, 1_c_size_t, c_loc(one))
  end do
  !$omp parallel do private(several, k) reduction(+ : wrong)
  do i = 0, n - 10, 10
    call dsm_array_own(array, n - 10 - i, 10_c_size_t)
    call dsm_array_get(array, i, 10_c_size_t, c_loc(several))
    do k = 1, 10
      if (several(k)%number /= i + k - 1 .or. several(k)%value /= 0.25d0 * (i + k - 1)) wrong = wrong + 1
    end do
    if (dsm_array_location(array, i) < 0 .or. dsm_array_location(array, i) >= dsm_processes()) wrong = wrong + 1
  end do
  call dsm_array_destroy(array)
  if (wrong == 0) then
    print '(a)', 'verified'
  else
    print '(a)', 'WRONG'
    stop 1
  end if
end program

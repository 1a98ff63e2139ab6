! The Fortran face of memory-based operations.
module places
  use dsm
  use, intrinsic :: iso_c_binding
  implicit none
  type, bind(c) :: pair
    integer(c_int64_t) :: first = 0
    real(c_double) :: second = 0
  end type
  type(pair), target, save :: both
contains
  ! What signals call.
  subroutine raise(place, argument, bytes) bind(c)
    type(c_ptr), value :: place, argument
    integer(c_size_t), value :: bytes
    type(pair), pointer :: here, by
    call c_f_pointer(place, here)
    call c_f_pointer(argument, by)
    if (bytes > 0) then
      call dsm_add(here%first, by%first)
      call dsm_add(here%second, by%second)
    end if
  end subroutine
end module

program face
  use dsm
  use omp_lib
  use places
  use, intrinsic :: iso_c_binding
  implicit none
  integer(4), target, save :: counts(10) = 0, least = 100
  integer(8), target, save :: counter = 0, tickets = 0
  real(4), target, save :: short = 0
  real(8), target, save :: total = 0, range(100) = 0
  real(8) :: own(100)
  integer :: i, threads
  integer(8) :: old
  logical :: right
  type(pair), target :: by
  type(dsm_handle) :: handle
  type(c_ptr) :: queue
  integer(8), target :: ticket, popped
  right = .true.
!$omp parallel private(i, old, own) reduction(.and.: right)
  threads = omp_get_num_threads()
  do i = 1, 1000
    call dsm_add(counts(mod(i, 10) + 1), 1)
    call dsm_add(counter, 2_8)
    call dsm_add(total, 0.5d0)
  end do
  call dsm_add(short, 0.25)
  call dsm_min(least, -omp_get_thread_num())
  old = dsm_fetch_add(tickets, 1_8)
  right = right .and. old >= 0 .and. old < threads
!$omp barrier
  right = right .and. sum(counts) == 1000 * threads .and. counter == 2000 * threads
  right = right .and. total == 500 * threads .and. short == 0.25 * threads .and. least == 1 - threads
!$omp barrier
  if (omp_get_thread_num() == threads - 1) then
    own = 7
    call dsm_write_flag(range, own, 800_8, counter, 1_8)
    own = 0
    call dsm_read(own, range, 800_8)
    right = right .and. all(own == 7)
    right = right .and. dsm_fetch_cas(counter, 1_8, 5_8) == 1
  end if
!$omp end parallel
  right = right .and. all(range == 7) .and. counter == 5
  call dsm_register(c_funloc(raise))
!$omp parallel private(by, handle) reduction(.and.: right)
  call dsm_bundle_begin()
  call dsm_add(both%first, 1_8)
  call dsm_add(both%second, 0.5d0)
  call dsm_bundle_end()
  call dsm_posted(handle)
  call dsm_wait(handle)
  right = right .and. dsm_test(handle) /= 0
  by%first = 2
  by%second = 1
  call dsm_signal(both, c_funloc(raise), by, c_sizeof(by), handle)
  call dsm_wait(handle)
  call dsm_signal_process(omp_get_thread_num(), c_funloc(raise), by, 0_c_size_t, handle)
  call dsm_wait(handle)
!$omp end parallel
  right = right .and. both%first == 3 * threads .and. both%second == 1.5 * threads
  queue = dsm_fifo_create(2_c_size_t, 8_c_size_t)
  right = right .and. c_associated(queue)
  ticket = 1
  right = right .and. dsm_fifo_push(queue, ticket) == dsm_ok
  ticket = 2
  right = right .and. dsm_fifo_push(queue, ticket) == dsm_ok .and. dsm_fifo_push(queue, ticket) == dsm_full
  popped = 0
!$omp parallel private(ticket) reduction(+: popped)
  do while (dsm_fifo_pop(queue, ticket) /= dsm_empty)
    popped = popped + ticket
  end do
!$omp end parallel
  call dsm_fifo_destroy(queue)
  right = right .and. popped == 3
  if (right) then
    print '(a)', 'verified'
  else
    print '(a)', 'WRONG'
    error stop
  end if
end program

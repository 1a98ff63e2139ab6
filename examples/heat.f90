! Fortran: a module's arrays, allocated by the main program, shared by all processes.
!
! Heat spreads over a plate whose left edge is warm. Columns are contiguous in Fortran, so each thread owns a band of
! columns and reads one column of each neighbour per step.
module plate
  implicit none
  integer, parameter :: n = 256, steps = 100
  real(8), allocatable :: now(:, :), next(:, :)
contains
  subroutine start()
    integer :: i
    now = 0
    now(:, 1) = [(100 - abs(i - n / 2) * 0.5d0, i = 1, n)]
    next = now
  end subroutine

  ! New values of the columns from first to last.
  subroutine step(first, last)
    integer, intent(in) :: first, last
    integer :: i, j
    do j = first, last
      do i = 2, n - 1
        next(i, j) = 0.25d0 * (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1))
      end do
    end do
  end subroutine

  subroutine swap()
    real(8), allocatable :: old(:, :)
    call move_alloc(now, old)
    call move_alloc(next, now)
    call move_alloc(old, next)
  end subroutine
end module

program heat
  use plate
  use omp_lib
  implicit none
  integer :: t, j, team
  real(8) :: begun, seconds
  real(8), allocatable :: parallel_result(:, :)

  allocate(now(n, n), next(n, n))
  call start()
  begun = omp_get_wtime()
  !$omp parallel private(t)
  !$omp single
  team = omp_get_num_threads()
  !$omp end single
  do t = 1, steps
    !$omp do schedule(static)
    do j = 2, n - 1
      call step(j, j)
    end do
    !$omp end do
    !$omp single
    call swap()
    !$omp end single
  end do
  !$omp end parallel
  seconds = omp_get_wtime() - begun

  ! The same steps by this thread alone must give the same bits.
  parallel_result = now
  call start()
  do t = 1, steps
    call step(2, n - 1)
    call swap()
  end do
  print '(i0, a, i0, a, f0.1, a, f0.3)', team, ' threads, ', steps, ' steps: ', seconds / steps * 1d6, &
    & ' us a step, mean temperature ', sum(now) / n**2
  if (any(now /= parallel_result)) then
    print '(a)', 'WRONG'
    stop 1
  end if
  print '(a)', 'verified'
end program

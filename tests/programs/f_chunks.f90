! Loops with schedule(static, CHUNK): some that cannot tell which thread has which chunk, and some that can.
program chunks
  use omp_lib
  implicit none
  integer, parameter :: n = 203
  integer :: i, j, times, seen(n), wrong
  real(8) :: a(n), b(n), total, most
  call omp_set_dynamic(.false.)
  call omp_set_num_threads(4)
  do times = 1, 3
    call set(a, b, n, times)
  end do
  wrong = 0
  do i = 1, n
    if (a(i) /= i + 3 .or. b(i) /= 2 * (i + 3)) wrong = wrong + 1
  end do
  print '(a, i0)', 'independent ', wrong
  total = 0
  most = -1
  call reduce(a, n, total, most)
  print '(a, f0.1, a, f0.1)', 'reductions ', total, ' ', most
  call count(seen, n)
  wrong = 0
  do i = 1, n
    j = (i - 1) / 3 / 4 * 3 + mod(i - 1, 3)
    if (seen(i) /= j) wrong = wrong + 1
  end do
  print '(a, i0)', 'counter ', wrong
  call compare(seen, n)
  wrong = 0
  do i = 1, n
    if (seen(i) /= merge(1, 0, (i - 1) / 4 < 3)) wrong = wrong + 1
  end do
  print '(a, i0)', 'compared counter ', wrong
  !$omp parallel do schedule(static, 1)
  do i = 1, n
    seen(i) = omp_get_thread_num()
  end do
  wrong = 0
  do i = 1, n
    if (seen(i) /= mod(i - 1, 4)) wrong = wrong + 1
  end do
  print '(a, i0)', 'number ', wrong
contains
  subroutine set(a, b, n, times)
    integer, intent(in) :: n, times
    real(8), intent(out) :: a(n), b(n)
    integer :: i
    !$omp parallel do schedule(static, 1)
    do i = 1, n
      a(i) = i + times
      b(i) = 2 * a(i)
    end do
  end subroutine
  subroutine reduce(a, n, total, most)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n)
    real(8), intent(inout) :: total, most
    integer :: i
    !$omp parallel do schedule(static, 4) reduction(+: total)
    do i = 1, n
      total = total + a(i)
    end do
    !$omp parallel do schedule(static, 4) reduction(max: most)
    do i = 1, n
      most = max(most, a(i))
    end do
  end subroutine
  subroutine count(seen, n)
    integer, intent(in) :: n
    integer, intent(out) :: seen(n)
    integer :: i, before
    before = 0
    !$omp parallel do schedule(static, 3) firstprivate(before)
    do i = 1, n
      seen(i) = before
      before = before + 1
    end do
  end subroutine
  subroutine compare(seen, n)
    integer, intent(in) :: n
    integer, intent(out) :: seen(n)
    integer :: i, before
    before = 0
    !$omp parallel do schedule(static, 1) firstprivate(before)
    do i = 1, n
      seen(i) = 0
      if (before < 3) seen(i) = 1
      before = before + 1
    end do
  end subroutine
end program

! Schedules, collapse, ordered, nowait, sections and loops with odd bounds.
program loops
  implicit none
  integer, parameter :: n = 97
  integer :: i, j, k, order(n), grid(7, 5, 3), count
  integer(8) :: wide, long(20)
  real :: marks(n)

  order = 0
  !$omp parallel do schedule(static, 5)
  do i = 1, n
    order(i) = order(i) + i
  end do
  !$omp parallel do schedule(dynamic, 3)
  do i = n, 1, -2
    order(i) = order(i) + 1000
  end do
  !$omp parallel do schedule(guided)
  do i = -10, 10, 4
    order(i + 11) = order(i + 11) + 10000
  end do
  print '(10i7)', order
  grid = 0
  !$omp parallel do collapse(3) schedule(dynamic)
  do k = 1, 3
    do j = 1, 5
      do i = 1, 7
        grid(i, j, k) = i + 10 * j + 100 * k
      end do
    end do
  end do
  print *, sum(grid), grid(7, 5, 3), grid(2, 4, 1)
  count = 0
  !$omp parallel do ordered schedule(dynamic, 2)
  do i = 1, 30
    !$omp ordered
    count = mod(count * 31 + i, 10007)
    !$omp end ordered
  end do
  print *, count
  !$omp parallel
  !$omp do schedule(static)
  do i = 1, n
    marks(i) = i
  end do
  !$omp end do nowait
  !$omp do schedule(static)
  do i = 1, n
    marks(i) = marks(i) * 2
  end do
  !$omp do schedule(runtime) lastprivate(wide)
  do wide = 5000000000_8, 5000000019_8
    long(wide - 4999999999_8) = wide
  end do
  !$omp sections
  !$omp section
  order(1) = -1
  !$omp section
  order(2) = -2
  !$omp end sections
  !$omp end parallel
  print *, sum(marks), long(1), long(20), wide, order(1:3)
  do concurrent (i = 1:n)
    order(i) = i * i
  end do
  !$omp parallel do simd
  do i = 1, n
    marks(i) = order(i) + 0.5
  end do
  print *, marks(n)
end program

! Collapsed loops whose rows are walked: bounds that are not 1, kinds of integers, schedules, a reduction, arrays of all sorts.
program f_collapse
  implicit none
  integer, parameter :: n = 47, m = 59, l = 6
  real(8) :: a(m, n), b(0:m - 1, -3:n - 4)
  real(8), allocatable :: c(:, :, :)
  integer(8) :: total, i, j
  integer :: last
  allocate (c(l, m, n))
  a = 0
  b = 0
  call fill(a, m, n)
  call smooth(b, a, m, n)
  call deep(c, total, last)
  print '(3f14.1)', sum(a), sum(b), sum(c)
  total = total + last
  do j = -3, n - 4
    do i = 0, m - 1
      total = mod(total*31 + nint(b(i, j), 8), 1000000007_8)
    end do
  end do
  print '(i0)', total
contains
  subroutine fill(x, rows, columns)
    integer, intent(in) :: rows, columns
    real(8), intent(out) :: x(rows, columns)
    integer :: i, j
!$omp parallel do collapse(2)
    do j = 1, columns
      do i = 1, rows
        x(i, j) = mod(i*j, 13)
      end do
    end do
  end subroutine

  subroutine smooth(to, from, rows, columns)
    integer, intent(in) :: rows, columns
    real(8), intent(inout) :: to(0:rows - 1, -3:columns - 4)
    real(8), intent(in) :: from(rows, columns)
    integer(8) :: i, j
!$omp parallel do collapse(2) schedule(dynamic, 37)
    do j = 2, columns - 1
      do i = 2, rows - 1
        to(i - 1, j - 4) = from(i - 1, j) + from(i + 1, j) - 2*from(i, j - 1) + 3*from(i, j + 1)
      end do
    end do
  end subroutine

  subroutine deep(x, total, last)
    real(8), intent(inout) :: x(:, :, :)
    integer(8), intent(out) :: total
    integer, intent(out) :: last
    integer :: i, j, k
    total = 0
    last = 0
!$omp parallel do collapse(3) schedule(static, 11) reduction(+:total) reduction(max:last)
    do k = 1, size(x, 3)
      do j = 1, size(x, 2)
        do i = size(x, 1), 1, -1
          x(i, j, k) = i + 10*j + 100*k
          total = total + i*j + k
          last = max(last, i*j*k)
        end do
      end do
    end do
  end subroutine
end program

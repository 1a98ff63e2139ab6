! Automatic arrays, temporaries, sections and array descriptors as arguments inside and across regions.
module kernels
  implicit none
contains
  subroutine smooth(x, y)
    real(8), intent(in) :: x(:)
    real(8), intent(inout) :: y(:)
    real(8) :: work(size(x))
    integer :: i
    work = x
    !$omp parallel do
    do i = 2, size(x) - 1
      y(i) = (work(i - 1) + 2 * work(i) + work(i + 1)) / 4
    end do
  end subroutine
  subroutine contiguous(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: i
    !$omp parallel do
    do i = 1, n
      x(i) = x(i) + i
    end do
  end subroutine
  function halves(x) result(y)
    real(8), intent(in) :: x(:)
    real(8) :: y(size(x))
    y = x / 2
  end function
  subroutine optional_parts(x, extra)
    real(8), intent(inout) :: x(:)
    real(8), intent(in), optional :: extra(:)
    if (present(extra)) x = x + extra
  end subroutine
end module

program arguments
  use kernels
  implicit none
  integer, parameter :: n = 64
  real(8) :: grid(n, n), column(n), out(n, 4)
  integer :: i, j

  do j = 1, n
    grid(:, j) = [(dble(i * j), i = 1, n)]
  end do
  column = 0
  call smooth(grid(5, :), column)
  print '(4f10.2)', column(2), column(33), sum(column), grid(5, 7)
  call contiguous(n, grid(3, :))
  call contiguous(n, grid(:, 9))
  print '(3f12.2)', sum(grid(3, :)), sum(grid(:, 9)), sum(grid)
  !$omp parallel do
  do i = 1, 4
    out(:, i) = halves(grid(:, i)) + grid(n:1:-1, i + 1)
    call optional_parts(out(::2, i))
    call optional_parts(out(::2, i), grid(i, 2::2))
  end do
  print '(4f12.3)', sum(out, dim=1)
end program

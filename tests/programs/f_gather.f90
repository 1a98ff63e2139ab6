! Indirect accesses to allocatable arrays of a module, which change their size and place between the rounds.
module sparse
  implicit none
  integer, allocatable :: begins(:), columns(:)
  double precision, allocatable :: values(:), x(:), y(:)
contains
  subroutine fill(rows, low)
    integer, intent(in) :: rows, low
    integer :: i, k
    allocate(begins(rows + 1), columns(rows * 9), values(rows * 9), x(low:low + rows - 1), y(low:low + rows - 1))
    do i = 1, rows + 1
      begins(i) = 9 * (i - 1) + 1
    end do
    do k = 1, rows * 9
      columns(k) = low + mod(k * 37, rows)
      values(k) = mod(k, 5) - 1.5d0
    end do
    x = 1d0
    y = 0d0
  end subroutine fill

  subroutine multiply(rows, low)
    integer, intent(in) :: rows, low
    integer :: j, k
    double precision :: total
    !$omp parallel private(total, k)
    !$omp do
    do j = 1, rows
      total = 0d0
      do k = begins(j), begins(j + 1) - 1
        total = total + values(k) * x(columns(k))
      end do
      y(low + j - 1) = total
    end do
    ! Every element has a writer of its own, but not its neighbours'.
    !$omp do
    do j = 1, rows
      do k = 1, 1
        x(columns(j)) = x(columns(j)) + 0.25d0 * y(columns(j))
      end do
    end do
    !$omp end parallel
  end subroutine multiply
end module sparse

program gather
  use sparse
  implicit none
  integer, parameter :: sizes(4) = [50, 2000, 7, 4001], lows(4) = [1, -3, 100, 0]
  integer :: round, step
  do round = 1, 4
    call fill(sizes(round), lows(round))
    do step = 1, 3
      call multiply(sizes(round), lows(round))
    end do
    print '(3f20.6)', sum(x), sum(y), x(lows(round) + sizes(round) / 2)
    deallocate(begins, columns, values, x, y)
  end do
end program gather

! Walks through arrays as Fortran programs make them: indices of collapsed loops, loop variables of worksharing loops, strides that only
! a descriptor knows, backwards ones among them.
module grids
  implicit none
  double precision, allocatable :: field(:, :, :), flow(:, :, :)
contains
  subroutine sweep(n1, n2, n3)
    integer, intent(in) :: n1, n2, n3
    integer :: i, j, k
    double precision :: row(n1)
    !$omp parallel do collapse(2) private(row)
    do k = 2, n3 - 1
      do j = 2, n2 - 1
        do i = 1, n1
          row(i) = field(i, j - 1, k) + field(i, j + 1, k) + field(i, j, k - 1)
        end do
        do i = 2, n1 - 1
          flow(i, j, k) = flow(i, j, k) + 0.25d0 * field(i, j, k) + row(i - 1) + row(i + 1)
        end do
      end do
    end do
  end subroutine sweep

  subroutine invert(a, n)
    integer, intent(in) :: n
    double precision, intent(inout) :: a(n)
    integer :: i
    !$omp parallel do
    do i = 1, n
      a(i) = 1d0 / a(i)
    end do
  end subroutine invert

  subroutine shift(a, first, last, by)
    double precision, intent(inout) :: a(-20:)
    integer, intent(in) :: first, last
    double precision, intent(in) :: by
    integer :: i
    !$omp parallel do schedule(static, 7)
    do i = first, last
      a(i) = a(i) + by * i
    end do
  end subroutine shift

  ! The stride of `a` may be anything, zero excepted.
  subroutine scale(a, b)
    double precision, intent(inout) :: a(:)
    double precision, intent(in) :: b(:)
    integer :: i
    do i = 1, size(a)
      a(i) = a(i) + 2 * b(i)
    end do
  end subroutine scale

  subroutine all_planes(n1, n2, n3)
    integer, intent(in) :: n1, n2, n3
    integer :: j, k
    !$omp parallel do collapse(2)
    do k = 1, n3
      do j = 1, n2
        call scale(flow(:, j, k), field(:, j, k))
        call scale(flow(n1:1:-1, j, k), field(:, j, k))
        call scale(flow(1:n1:3, j, k), field(n1:2:-3, j, k))
      end do
    end do
    !$omp parallel do
    do j = 1, n2
      do k = 1, n1
        call scale(flow(k, j, :), field(k, j, n3:1:-1))
      end do
    end do
  end subroutine all_planes
end module grids

program walks
  use grids
  implicit none
  integer :: i, j, k, round
  integer :: sizes(3, 3) = reshape([33, 9, 7, 2, 2, 2, 130, 5, 11], [3, 3])
  double precision :: line(-20:400)

  do round = 1, 3
    allocate(field(sizes(1, round), sizes(2, round), sizes(3, round)))
    allocate(flow(sizes(1, round), sizes(2, round), sizes(3, round)))
    do k = 1, sizes(3, round)
      do j = 1, sizes(2, round)
        do i = 1, sizes(1, round)
          field(i, j, k) = mod(i * 7 + j * 11 + k * 13, 17)
          flow(i, j, k) = i - j + k
        end do
      end do
    end do
    call sweep(sizes(1, round), sizes(2, round), sizes(3, round))
    call all_planes(sizes(1, round), sizes(2, round), sizes(3, round))
    print '(3f20.4)', sum(flow), maxval(flow), flow(sizes(1, round), 1, sizes(3, round))
    deallocate(field, flow)
  end do
  line = 2d0
  call invert(line, 421)
  call shift(line, -20, 400, 0.125d0)
  call shift(line, 3, 2, 1d0)
  call shift(line, 5, 5, 1d0)
  print '(4f20.6)', sum(line), line(-20), line(5), line(400)
end program walks

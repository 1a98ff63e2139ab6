! Array assignments that replace all of a section, and some that do not, of sections that another thread had before.
module data
  implicit none
  integer, parameter :: parts = 6, per = 1100, n = parts * per
  real(8), allocatable :: a(:), b(:)
  real(8) :: plane(per, parts), cube(40, 30, parts)
  complex(8) :: z(n)
  type box
    real(8), allocatable :: held(:)
    integer :: count
  end type
  type(box) :: boxes(parts)
  real(8), allocatable, target :: c(:)
contains
  subroutine work(kind, part, round)
    integer, intent(in) :: kind, part, round
    integer :: lo, hi, i, j
    real(8), pointer :: left(:), right(:)
    lo = part * per + 1
    hi = lo + per - 1
    select case (kind)
    case (0)
      a(lo:hi) = round
    case (1)
      b(lo:hi) = a(lo:hi)
    case (2)
      a(lo:hi) = a(hi:lo:-1)
    case (3)
      b(lo + 1:hi) = b(lo:hi - 1)
    case (4)
      a(lo:hi:2) = round + 5
    case (5)
      where (b(lo:hi) > a(lo:hi)) b(lo:hi) = a(lo:hi) + 1
    case (6)
      plane(:, part + 1) = [(sqrt(real(i + round, 8)), i=1, per)]
    case (7)
      call copy(b(lo:hi), a(lo:hi), per)
    case (8)
      z(lo:hi) = cmplx(a(lo:hi), b(lo:hi), 8)
    case (9)
      do j = 1, 30
        do i = 1, 40
          cube(i, j, part + 1) = i * j + round
        end do
      end do
    case (10)
      cube(2:39, :, part + 1) = -1
    case (12)
      left => c(lo:hi)
      right => c(lo:hi)
      left = right(per:1:-1) + round
    case (13)
      left => c(lo:hi - 1)
      right => c(lo + 1:hi)
      left = right
    case (14)
      left => c(lo + 1:hi - 1)
      left = round
    case (15)
      left => c(lo:hi:3)
      left = -round
    case (16)
      boxes(part + 1)%held = a(lo:hi - round)
      boxes(part + 1) = box(boxes(part + 1)%held, round)
    case (11)
      forall (i=lo:hi) z(i) = z(i) * (0, 1)
    end select
  end subroutine
  subroutine copy(to, from, count)
    integer, intent(in) :: count
    real(8), intent(out) :: to(count)
    real(8), intent(in) :: from(count)
    integer :: i
    do i = 1, count
      to(i) = from(i) * 3 + i
    end do
  end subroutine
end module

program overwrite
  use data
  use omp_lib
  implicit none
  integer :: kind, round, part, i
  allocate (a(n), b(n))
  a = [(mod(i, 17), i=1, n)]
  b = [(mod(i, 13), i=1, n)]
  z = 0
  allocate (c(n))
  c = b
  do i = 1, parts
    boxes(i) = box([real(8) :: 1, 2], 0)
  end do
  plane = 1
  cube = 2
  do round = 0, 2
    do kind = 0, 16
      !$omp parallel private(part)
      do part = 0, parts - 1
        if (mod(part + kind + round, omp_get_num_threads()) == omp_get_thread_num()) call work(kind, part, round)
      end do
      !$omp end parallel
      print '(2i3, 7f16.3)', round, kind, sum(a), sum(b), sum(plane), sum(cube), sum(real(z) - 2 * aimag(z)), &
        sum(c), sum([(sum(boxes(i)%held) + boxes(i)%count, i=1, parts)])
    end do
  end do
end program

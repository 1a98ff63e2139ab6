! Objects with allocatable components that the compiler initialises where other variables have been: what lies there is no descriptor before. At -O0 temporaries of structure
! constructors, private copies and local arrays are such.
module objects
  implicit none
  type :: inner
    double precision, allocatable :: list(:)
  end type
  type :: outer
    character(len=:), allocatable :: label
    type(inner) :: parts(2)
    integer, allocatable :: counts(:)
  end type
contains
  ! Leaves numbers, and addresses of large allocations, on the stack.
  recursive subroutine fill(depth, total)
    integer, intent(in) :: depth
    double precision, intent(inout) :: total
    double precision :: numbers(200)
    integer(8) :: addresses(200)
    double precision, allocatable, target :: memory(:)
    integer :: i
    allocate (memory(1000))
    memory = 1d0
    numbers = 0.5d0
    addresses = [(loc(memory(i)), i=1, 200)]
    call touch(numbers, addresses)
    total = total + numbers(depth) + merge(1d0, 0d0, addresses(depth) /= 0)
    if (depth > 1) call fill(depth - 1, total)
  end subroutine

  subroutine constructed(n, total)
    integer, intent(in) :: n
    double precision, intent(inout) :: total
    type(outer) :: object
    object = outer('object', [inner([1d0, 2d0]), inner([3d0])], [n, n + 1])
    total = total + sum(object%parts(1)%list) + sum(object%parts(2)%list) + sum(object%counts) + len(object%label)
  end subroutine

  subroutine copies(total)
    double precision, intent(inout) :: total
    type(inner) :: own
    integer :: i
    !$omp parallel do private(own) reduction(+:total)
    do i = 1, 8
      own%list = [1d0, 2d0, 3d0]
      total = total + sum(own%list)
      call fill(3, total)
    end do
  end subroutine

  subroutine locals(total)
    double precision, intent(inout) :: total
    integer :: i
    !$omp parallel do reduction(+:total)
    do i = 1, 8
      call fill(2, total)
      block
        type(inner) :: own(3)
        own(1)%list = [1d0, 2d0, 3d0]
        own(3) = own(1)
        total = total + sum(own(1)%list) + size(own(3)%list)
      end block
      call constructed(i, total)
    end do
  end subroutine
end module

subroutine touch(numbers, addresses)
  double precision, intent(inout) :: numbers(200)
  integer(8), intent(inout) :: addresses(200)
  if (numbers(1) > 1) numbers(1) = numbers(1) + numbers(200)
  if (addresses(1) == 0) addresses(1) = addresses(200)
end subroutine

program main
  use objects
  implicit none
  double precision :: total
  integer :: i
  total = 0
  do i = 2, 6
    call fill(i, total)
    call constructed(i, total)
    call copies(total)
    call locals(total)
  end do
  print '(f0.2)', total
end program

! Allocatables and pointers: allocated in one thread, used, grown, moved and freed in another.
program allocatables
  implicit none
  type cell
    integer :: value
    type(cell), pointer :: next => null()
  end type
  type holder
    integer, allocatable :: items(:)
  end type
  real(8), allocatable :: a(:, :), b(:, :), moved(:, :)
  integer, allocatable :: grown(:)
  type(holder) :: hold(8)
  type(cell), pointer :: head, p
  real(8), pointer :: view(:), row(:)
  real(8), target :: pool(200)
  integer :: i, j, status, total

  allocate(a(50, 40), b(0:49, -1:38))
  !$omp parallel do
  do j = 1, 40
    do i = 1, 50
      a(i, j) = i + 100 * j
      b(i - 1, j - 2) = -a(i, j)
    end do
  end do
  call move_alloc(a, moved)
  allocate(a(3, 3), stat=status)
  print *, allocated(a), status, lbound(b), ubound(b), sum(moved), sum(b)

  !$omp parallel do schedule(static, 1) private(j)
  do i = 1, 8
    hold(i)%items = [(j, j = 1, 10 * i)]
  end do
  !$omp parallel do schedule(static, 1)
  do i = 1, 8
    hold(9 - i)%items = [hold(9 - i)%items, i]
  end do
  print *, (size(hold(i)%items), hold(i)%items(size(hold(i)%items)), i = 1, 8)

  !$omp parallel sections
  !$omp section
  grown = [1, 2, 3]
  !$omp section
  allocate(view(20))
  view = 7
  !$omp end parallel sections
  !$omp parallel sections
  !$omp section
  grown = [grown, grown * 2, size(view)]
  !$omp section
  pool = 0
  !$omp end parallel sections
  row => pool(1:200:4)
  !$omp parallel do
  do i = 1, size(row)
    row(i) = i
  end do
  deallocate(view)
  print *, grown, associated(view), sum(pool), pool(5)

  nullify(head)
  !$omp parallel do ordered private(p)
  do i = 1, 20
    allocate(p)
    p%value = i
    !$omp ordered
    p%next => head
    head => p
    !$omp end ordered
  end do
  total = 0
  do while (associated(head))
    total = total * 3 + head%value
    total = mod(total, 100003)
    p => head%next
    deallocate(head)
    head => p
  end do
  print *, total
end program

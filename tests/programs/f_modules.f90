! Module variables of derived types, with allocatable components, written and read by different threads.
module bodies
  implicit none
  type point
    real(8) :: x = 1, y = 2
  end type
  type, extends(point) :: body
    integer :: number = -1
    real(8), allocatable :: history(:)
    character(6) :: name = 'none'
  contains
    procedure :: energy
  end type
  type(body), save :: all(16)
  integer, protected :: changes = 0
contains
  real(8) function energy(self)
    class(body), intent(in) :: self
    energy = self%x**2 + self%y**2 + sum(self%history)
  end function
  subroutine note_change()
    !$omp atomic
    changes = changes + 1
  end subroutine
end module

program modules
  use bodies
  implicit none
  integer :: i
  real(8) :: energies(16)
  type(body) :: copy

  !$omp parallel do schedule(static, 1)
  do i = 1, 16
    all(i)%number = i
    all(i)%x = all(i)%x * i
    allocate(all(i)%history(10 * i))
    all(i)%history = 1d0 / i
    write(all(i)%name, '(a, i2.2)') 'body', i
    call note_change()
  end do
  !$omp parallel do schedule(dynamic)
  do i = 1, 16
    energies(i) = all(17 - i)%energy()
  end do
  ! A copy of the object copies its component; the original stays as it was.
  copy = all(3)
  copy%history = 0
  !$omp parallel do
  do i = 1, 16
    if (i == 3) all(i) = body(number=99, history=[1d0, 2d0], name='new')
    if (i /= 3) deallocate(all(i)%history)
  end do
  print '(8f8.2)', energies
  print *, changes, size(copy%history), copy%name, all(3)%name, all(3)%number, all(3)%history, all(16)%name
  print *, (allocated(all(i)%history), i = 1, 4)
end program

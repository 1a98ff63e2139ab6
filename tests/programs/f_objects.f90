! Polymorphic objects, defined assignment, finalisation and deep copies between threads.
module shapes
  implicit none
  type, abstract :: shape
    character(8) :: name = '?'
  contains
    procedure(measure), deferred :: area
  end type
  abstract interface
    real(8) function measure(self)
      import shape
      class(shape), intent(in) :: self
    end function
  end interface
  type, extends(shape) :: circle
    real(8) :: radius
  contains
    procedure :: area => circle_area
  end type
  type, extends(shape) :: polygon
    real(8), allocatable :: corners(:, :)
  contains
    procedure :: area => polygon_area
  end type
  type box
    class(shape), allocatable :: content
  end type
  type counted
    integer :: id = 0
  contains
    final :: finish
    procedure :: assign_counted
    generic :: assignment(=) => assign_counted
  end type
  integer :: finished = 0, assigned = 0
contains
  real(8) function circle_area(self)
    class(circle), intent(in) :: self
    circle_area = 3 * self%radius**2
  end function
  real(8) function polygon_area(self)
    class(polygon), intent(in) :: self
    polygon_area = sum(self%corners)
  end function
  subroutine finish(self)
    type(counted), intent(inout) :: self
    !$omp atomic
    finished = finished + 1
  end subroutine
  subroutine assign_counted(to, from)
    class(counted), intent(inout) :: to
    class(counted), intent(in) :: from
    to%id = from%id + 100
    !$omp atomic
    assigned = assigned + 1
  end subroutine
end module

program objects
  use shapes
  implicit none
  type(box) :: boxes(12), copies(12)
  type(counted) :: one(4), two(4)
  real(8) :: areas(12)
  integer :: i

  !$omp parallel do schedule(static, 1)
  do i = 1, 12
    if (mod(i, 2) == 0) then
      boxes(i)%content = circle('circle', dble(i))
    else
      allocate(polygon :: boxes(i)%content)
      boxes(i)%content%name = 'polygon'
      select type (p => boxes(i)%content)
      type is (polygon)
        allocate(p%corners(2, i))
        p%corners = i
      end select
    end if
  end do
  !$omp parallel do schedule(dynamic)
  do i = 12, 1, -1
    copies(i) = boxes(13 - i)
    areas(i) = copies(i)%content%area()
  end do
  print '(6f8.1)', areas
  print '(12a8)', (copies(i)%content%name, i = 1, 12)
  !$omp parallel do schedule(static, 1)
  do i = 1, 4
    one(i)%id = i
    two(i) = one(i)
    deallocate(copies(i)%content)
  end do
  print *, two%id, assigned, (allocated(copies(i)%content), i = 3, 6)
end program

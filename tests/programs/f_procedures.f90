! Internal procedures, procedure arguments and pointers, recursion, generic and elemental procedures.
module apply_it
  implicit none
  abstract interface
    real(8) function rule(x)
      real(8), intent(in) :: x
    end function
  end interface
  interface twice
    procedure twice_integer, twice_real
  end interface
contains
  integer elemental function twice_integer(x)
    integer, intent(in) :: x
    twice_integer = 2 * x
  end function
  real(8) elemental function twice_real(x)
    real(8), intent(in) :: x
    twice_real = 2 * x
  end function
  real(8) function integral(f, n)
    procedure(rule) :: f
    integer, intent(in) :: n
    integer :: i
    integral = 0
    !$omp parallel do reduction(+:integral)
    do i = 1, n
      integral = integral + f((i - 0.5d0) / n) / n
    end do
  end function
  real(8) function square(x)
    real(8), intent(in) :: x
    square = x * x
  end function
  recursive integer function fibonacci(n) result(f)
    integer, intent(in) :: n
    integer :: a, b
    if (n < 2) then
      f = n
      return
    end if
    !$omp task shared(a) if(n > 8)
    a = fibonacci(n - 1)
    !$omp end task
    b = fibonacci(n - 2)
    !$omp taskwait
    f = a + b
  end function
end module

program procedures
  use apply_it
  implicit none
  integer :: calls, i, f, many(6)
  procedure(rule), pointer :: p
  calls = 0
  many = [1, 2, 3, 4, 5, 6]
  print '(2f10.6)', integral(square, 1000)
  p => square
  print '(2f10.6)', integral(p, 10)
  call count_up(5)
  !$omp parallel do
  do i = 1, 100
    call count_up(1)
  end do
  !$omp parallel
  !$omp single
  f = fibonacci(14)
  !$omp end single
  !$omp end parallel
  print *, calls, f, twice(many), twice(1.5d0)
contains
  subroutine count_up(by)
    integer, intent(in) :: by
    !$omp atomic
    calls = calls + by
  end subroutine
end program

! An internal procedure as an argument: its trampoline and its host's variables are used by all processes.
! lld refuses objects that need an executable stack, but with `-z execstack`.
!@ flags: -fuse-ld=bfd
module callers
  implicit none
contains
  subroutine each(f, n, r)
    interface
      real(8) function f(i)
        integer, intent(in) :: i
      end function
    end interface
    integer, intent(in) :: n
    real(8), intent(out) :: r(n)
    integer :: i
    !$omp parallel do schedule(static,1)
    do i = 1, n
      r(i) = f(i)
    end do
  end subroutine
end module
program trampolines
  use callers
  implicit none
  call go(2d0)
contains
  subroutine go(x)
    real(8), intent(in) :: x
    real(8) :: y, r(8)
    y = x + 1
    call each(inner, 8, r)
    print *, r
  contains
    real(8) function inner(i)
      integer, intent(in) :: i
      inner = i * x + y
    end function
  end subroutine
end program

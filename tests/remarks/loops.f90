! Loops that remarks tell apart; the test finds the lines by their text.
subroutine walk(part, n)
  integer, intent(in) :: n
  double precision, intent(inout) :: part(n)
  integer :: i
  do i = 1, n
     part(i) = part(i) + 1
  end do
end subroutine

subroutine call(part, n)
  integer, intent(in) :: n
  double precision, intent(inout) :: part(n)
  integer :: i
  do i = 1, n
     part(i) = 3
     call consume(part)
  end do
end subroutine

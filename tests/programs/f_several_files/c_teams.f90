! Procedures that start a team with what their callers, in another file, gave them.
module teams
contains
  subroutine double_all(values, times)
    integer, intent(inout) :: values(:)
    integer, intent(in) :: times
    integer :: i
    !$omp parallel do
    do i = 1, size(values)
      values(i) = values(i) * 2 * times + i
    end do
  end subroutine
end module

subroutine add_each(values, count, weights)
  integer, intent(in) :: count
  integer, intent(inout) :: values(count)
  integer, intent(in) :: weights(4)
  integer :: i
  !$omp parallel do schedule(static, 5)
  do i = 1, count
    values(i) = values(i) + weights(1 + mod(i, 4))
  end do
end subroutine

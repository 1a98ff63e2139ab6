!@ exit: 3
! The status of stop, and what was printed before it.
program stops
  implicit none
  integer :: i, total
  total = 0
  !$omp parallel do reduction(+:total)
  do i = 1, 10
    total = total + i
  end do
  print *, 'total', total
  if (total == 55) stop 3
  print *, 'not reached'
end program

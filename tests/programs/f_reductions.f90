! Reductions of worksharing constructs: their barriers, in front and behind, may be left out where the reduction waits for all threads itself.
module work
  implicit none
  integer, parameter :: n = 2000
  integer :: cells(n), total
contains
  ! Its threads come by different calls.
  subroutine add(round)
    integer, intent(in) :: round
    integer :: i
!$omp do reduction(+:total)
    do i = 1, n
      cells(i) = i + round
      total = total + cells(i)
    end do
  end subroutine
end module

program reductions
  use omp_lib
  use work
  implicit none
  integer :: i, round, wrong, largest, counts(3), expected, tasks
  integer, allocatable :: bins(:)
  logical :: all_positive

  total = 0
  wrong = 0
  ! What the loop has stored, all see behind it; what follows the reduction follows its result.
!$omp parallel private(round, expected, i) reduction(+:wrong)
  expected = 0
  do round = 1, 50
    if (mod(omp_get_thread_num(), 2) == 0) then
      call add(round)
    else
      call add(round)
    end if
    expected = expected + n * (n + 1) / 2 + n * round
    if (total /= expected) wrong = wrong + 1
!$omp do schedule(static, 7)
    do i = 1, n
      if (cells(n + 1 - i) /= n + 1 - i + round) wrong = wrong + 1
    end do
  end do
!$omp end parallel
  print *, 'rounds', total, wrong

  ! Two at a time, arrays, descriptors, and what has no barrier of its own.
  counts = 0
  largest = 0
  all_positive = .true.
  tasks = 0
  allocate (bins(0:4))
  bins = 0
!$omp parallel private(round, i)
  do round = 1, 20
!$omp do reduction(max:largest) reduction(.and.:all_positive) schedule(dynamic, 50)
    do i = 1, n
      largest = max(largest, mod(i * 7919, 10007) + round)
      all_positive = all_positive .and. cells(i) > 0
    end do
!$omp do reduction(+:counts, bins)
    do i = 1, n
      counts(mod(i, 3) + 1) = counts(mod(i, 3) + 1) + 1
      bins(mod(i, 5)) = bins(mod(i, 5)) + i
    end do
!$omp do reduction(+:tasks)
    do i = 1, n
      tasks = tasks + counts(1)
    end do
!$omp end do nowait
!$omp barrier
!$omp sections reduction(+:tasks)
!$omp section
    tasks = tasks - 1
!$omp section
    tasks = tasks - 2
!$omp end sections
  end do
!$omp end parallel
  print *, 'several', largest, all_positive, counts, bins, tasks

  ! At the end of a region.
  total = 0
  do round = 1, 50
!$omp parallel do reduction(+:total)
    do i = 1, n
      cells(i) = total + round
      total = total + i
    end do
!$omp parallel reduction(max:largest)
    largest = max(largest, total + round)
!$omp end parallel
    if (sum(cells) == 0) print *, 'lost'
  end do
  print *, 'regions', total, largest
end program

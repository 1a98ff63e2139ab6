! Character variables, of fixed, deferred and assumed length, built by one thread and read by another.
program strings
  implicit none
  type text
    character(:), allocatable :: s
  end type
  type(text) :: parts(10)
  character(:), allocatable :: whole
  character(12) :: names(10), sorted(10), swap
  integer :: i, j, lengths(10)

  !$omp parallel do schedule(static, 1)
  do i = 1, 10
    parts(i)%s = repeat(char(iachar('a') + i), i) // '-'
    write(names(i), '(a, i0)') 'name', 100 - i * i
  end do
  !$omp parallel do schedule(dynamic)
  do i = 1, 10
    parts(11 - i)%s = parts(11 - i)%s // trim(adjustl(names(i)))
    lengths(i) = len(parts(11 - i)%s) + index(names(i), '9') + scan(names(i), '123') + verify(names(i), 'name')
  end do
  whole = ''
  do i = 1, 10
    whole = whole // parts(i)%s // ','
  end do
  print '(a)', whole
  print *, lengths, len(whole)
  sorted = names
  do i = 1, 9
    do j = i + 1, 10
      if (sorted(j) < sorted(i)) then
        swap = sorted(i)
        sorted(i) = sorted(j)
        sorted(j) = swap
      end if
    end do
  end do
  print '(10a)', sorted
  print *, maxval(names), minval(names), len_trim(names), adjustr(names(3)) // '|', 'abc' == 'abc  '
end program

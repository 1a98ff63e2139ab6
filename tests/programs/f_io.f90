!@ stdin: 5 2.5 'a word'\n1 2 3\n
! Formatted, list-directed, internal, namelist and file input and output; lines from regions appear once and whole.
program io
  use omp_lib
  implicit none
  integer :: i, n, ios, values(3), unit
  real(8) :: x, table(4, 3)
  character(20) :: word, lines(6)
  character(80) :: text
  logical :: there
  namelist /setup/ n, x, values

  read *, n, x, word
  read(*, *, iostat=ios) values
  write(*, '(a, i3, f6.2, 1x, a, 3i3, i4)') 'read:', n, x, trim(word), values, ios
  read(*, *, iostat=ios) i
  print *, 'end of file:', ios < 0

  !$omp parallel do
  do i = 1, 6
    write(lines(i), '(a, i0, a, f5.2)') 'line ', i, ':', i / 4d0
  end do
  print '(a)', lines
  read(lines(4), '(5x, i1, 1x, f5.2)') n, x
  !$omp parallel do ordered schedule(static, 1)
  do i = 1, 12
    !$omp ordered
    write(*, *) 'ordered', i, lines(mod(i, 6) + 1)
    !$omp end ordered
  end do
  write(*, nml=setup)
  text = '&setup n = 8, values = 4*1 /'
  read(text, nml=setup, iostat=ios)
  text = '&setup n = 8, values = 3*1 /'
  read(text, nml=setup)
  print *, n, values

  !$omp parallel do
  do i = 1, 12
    table(mod(i - 1, 4) + 1, (i - 1) / 4 + 1) = i * 1.5d0
  end do
  open(newunit=unit, status='scratch', form='unformatted')
  write(unit) table, lines(2)
  rewind(unit)
  table = 0
  read(unit) table, word
  close(unit)
  open(17, status='scratch', form='formatted', action='readwrite')
  write(17, '(4f8.2)') table
  backspace(17)
  read(17, *) x
  inquire(17, opened=there)
  close(17)
  print *, x, sum(table), word, there
  write(text, *) table(1, :)
  print '(a)', text
  write(0, *) 'this goes to standard error'
end program

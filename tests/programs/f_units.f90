! Units that one thread connects and all use: every kind of statement, in the order that the program gives.
module shapes
  implicit none
  type point
    integer :: at(2)
    real(8) :: weight
    character(4) :: name
  end type
end module

program f_units
  use omp_lib
  use shapes
  implicit none
  integer, parameter :: n = 9
  integer :: i, j, k, unit, status, numbers(5), section(10), found, position
  integer(8) :: wide
  integer(1) :: small
  real :: x
  real(8) :: table(3, 4), back(3, 4)
  complex :: z
  logical :: flag, connected
  character(40) :: line, message, own
  character(12) :: mode
  type(point) :: p, q
  namelist /settings/ i, table, line, flag

  ! Formatted and list-directed output on a unit of the first thread.
  open (20, status='scratch')
  !$omp parallel do ordered schedule(static, 1) private(section, j, own)
  do i = 1, n
    section = [(i * j, j = 1, 10)]
    write (own, '(a,i0)') 'line ', i
    !$omp ordered
    write (20, '(a,1x,i4,1x,f8.3,1x,l1,1x,5i5)') trim(own), i, i / 3.0, mod(i, 2) == 0, section(1:9:2)
    write (20, *) i, real(i, 8), cmplx(i, -i), int(i, 8), 'text', section(10)
    write (20, '(i0,a)', advance='no') i, ' and '
    !$omp end ordered
  end do
  write (20, '(i0)') 0
  write (20, '(a)') 'end'
  rewind (20)
  do
    read (20, '(a)', iostat=status, iomsg=message) line
    if (status /= 0) exit
    print '(a)', trim(line)
  end do
  print *, is_iostat_end(status)

  ! Each thread reads its part, where the one before has stopped.
  rewind (20)
  write (20, *) 1, 2.5, 'three', (4.0, 5.0), .true., 6
  write (20, *) 7, 8, 9, 10, 11
  write (20, *) 12, ',', 14_8
  write (20, '(i3,f6.2,a5)') 15, 16.25, 'abc'
  rewind (20)
  !$omp parallel do ordered schedule(static, 1)
  do k = 1, 4
    !$omp ordered
    numbers = -1
    select case (k)
    case (1)
      read (20, *) i, x, line, z, flag, small
      print *, i, x, trim(line), z, flag, small
    case (2)
      read (20, *) j, (numbers(i), i = 1, j - 3)
      print *, j, numbers
    case (3)
      read (20, *) numbers(2), line, wide
      print *, numbers(2), line(1:1), wide
    case (4)
      read (20, '(i3,f6.2,a5)', iostat=status) i, x, line
      print *, i, x, line(1:5), status
    end select
    !$omp end ordered
  end do
  !$omp parallel do ordered schedule(static, 1)
  do k = 1, 4
    !$omp ordered
    if (k == 3) then
      read (20, *, iostat=status, iomsg=message) i
      print *, is_iostat_end(status), len_trim(message) > 0
      backspace (20)
    end if
    !$omp end ordered
  end do
  close (20)

  ! Unformatted records, by number and in order; a unit that another thread connects and yet another closes.
  table = reshape([(real(i, 8), i = 1, 12)], [3, 4])
  !$omp parallel do ordered schedule(static, 1)
  do k = 1, 8
    !$omp ordered
    select case (k)
    case (1)
      inquire (iolength=i) table
      open (21, status='scratch', form='unformatted', access='direct', recl=i)
    case (2)
      write (21, rec=3) table
    case (3)
      write (21, rec=1) table + 100
      write (21, rec=2) table(:, 2:3), table(3:1:-1, 1:4:3)
    case (4)
      read (21, rec=2) back
      print '(12f6.1)', back
    case (5)
      read (21, rec=3) back(:, 4:1:-1)
      print '(12f6.1)', back
      read (21, rec=99, iostat=status) back
      print *, status /= 0
    case (6)
      inquire (21, opened=connected, access=mode, nextrec=found, exist=flag)
      print *, connected, mode, found, flag
    case (7)
      close (21)
    case (8)
      inquire (21, opened=connected)
      print *, connected
    end select
    !$omp end ordered
  end do

  ! Numbers that the library chooses, streams, large arrays.
  !$omp parallel do ordered schedule(static, 1)
  do k = 1, 6
    !$omp ordered
    select case (k)
    case (1)
      open (newunit=unit, status='scratch', form='unformatted', access='stream')
    case (2)
      call large(unit, .true.)
      flush (unit)
    case (3)
      inquire (unit, pos=position)
      write (unit) int(3, 1), 'stream', 2.5d0
      print *, position
    case (4)
      call large(unit, .false.)
      read (unit, pos=position) small
      read (unit) line(1:6), table(2, 2)
      print *, small, line(1:6), table(2, 2), unit < 0
    case (5)
      read (unit, iostat=status) small
      print *, is_iostat_end(status)
    case (6)
      close (unit)
      inquire (unit, opened=connected)
      print *, connected
    end select
    !$omp end ordered
  end do

  ! Units that each thread connects for itself.
  !$omp parallel do ordered schedule(static, 1) private(j, small, own)
  do k = 1, 4
    !$omp ordered
    open (newunit=j, status='scratch')
    write (j, *) k
    rewind (j)
    read (j, *) small
    close (j)
    open (30 + k, status='scratch')
    write (30 + k, '(a)') 'own unit'
    rewind (30 + k)
    read (30 + k, '(a)') own
    if (k > 1) close (30 + k)
    inquire (31, opened=connected)
    print *, small, trim(own), connected, j < 0
    !$omp end ordered
  end do

  ! Objects of derived types, namelists, errors.
  open (22, status='scratch', delim='quote')
  p = point([1, 2], 3.5d0, 'four')
  !$omp parallel do ordered schedule(static, 1)
  do k = 1, 5
    !$omp ordered
    select case (k)
    case (1)
      write (22, *) p
      i = 5; flag = .true.; line = 'a line'
      write (22, settings)
    case (2)
      rewind (22)
      read (22, *) q%at, q%weight, q%name
      print *, q
    case (3)
      i = 0; flag = .false.; line = ''; table = 0
      read (22, settings)
      print *, i, flag, trim(line)
      print '(12f6.1)', table
    case (4)
      rewind (22)
      write (22, '(a)') '&settings table(2,3)=7.5, i=9 /'
      rewind (22)
    case (5)
      read (22, settings)
      print *, i, flag, trim(line), table(2, 3), sum(table)
      write (22, '(i4)', iostat=status, iomsg=message) 'no number'
      print *, status /= 0, len_trim(message) > 0
      read (22, *, end=10, err=20) i
20    print *, 'not at the end'
10    print *, 'at the end'
    end select
    !$omp end ordered
  end do
  close (22, status='delete')

  ! Connected before: units that a file's name stands for, output that the program redirects.
  open (6, file='dsm-f-units.txt', status='replace')
  !$omp parallel do ordered schedule(static, 1)
  do k = 1, 6
    !$omp ordered
    print *, 'redirected', k
    write (*, '(i3)') k
    !$omp end ordered
  end do
  rewind (6)
  !$omp parallel do ordered schedule(static, 1)
  do k = 1, 12
    !$omp ordered
    read (6, '(a)') line
    write (0, '(a)') trim(line)
    !$omp end ordered
  end do
  close (6, status='delete')

contains

  subroutine large(unit, out)
    integer, intent(in) :: unit
    logical, intent(in) :: out
    integer, parameter :: m = 40000
    integer :: values(m), j
    if (out) then
      values = [(j * 3, j = 1, m)]
      write (unit) values
    else
      values = 0
      read (unit, pos=1) values
      print *, sum(int(values, 8)), values(m)
    end if
  end subroutine
end program

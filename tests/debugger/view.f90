! Process 1 writes; process 0, whose copies are invalid then, has gdb look at it.
module field
  implicit none
  integer, parameter :: n = 4096
  integer :: numbers(n)
  double precision :: total
contains
  subroutine fill(rank)
    integer, intent(in) :: rank
    integer :: i, last
    last = 0
    if (rank == 1) then
       do i = 1, n
          numbers(i) = i
          last = i
       end do
       total = 2.5d0
    end if
  end subroutine
end module

program view
  use field
  use omp_lib
  implicit none
  integer :: local(4), length
  character(1000) :: commands
  local = 7
  numbers = -1
  total = 0
  !$omp parallel
  call fill(omp_get_thread_num())
  !$omp end parallel
  call get_command_argument(1, commands, length)
  if (length > 0) call look(commands(1:length))
  print *, local(2), numbers(10), total
contains
  subroutine look(commands)
    use iso_c_binding
    character(*), intent(in) :: commands
    character(1200) :: line
    integer :: status, ignored
    interface
       integer(c_int) function getpid() bind(c)
         import
       end function
    end interface
    write (line, '(a,i0,a)') "gdb -q -nx -batch -iex 'set auto-load safe-path /' -x '" // commands // "' -p ", getpid(), " 2>&1"
    call execute_command_line(trim(line), exitstat=status, cmdstat=ignored)
    if (status /= 0) print *, 'gdb failed'
  end subroutine
end program

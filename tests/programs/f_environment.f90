!@ args: first 2 -third
!@ env: TEST_WORD=hello
! Random numbers, clocks, command line and environment, in the main program and in all threads.
program environment
  implicit none
  integer :: i, values(8), seed(64), n, length, status, bad
  integer(8) :: before, after, rate
  real(8) :: x(1000), y(1000)
  real :: t0, t1
  character(20) :: word, name
  character(8) :: date
  character(10) :: time

  print *, command_argument_count()
  call get_command_argument(1, word, length, status)
  print *, trim(word), length, status
  bad = 0
  !$omp parallel private(word, length, status, name) reduction(+:bad)
  call get_command_argument(2, word, length, status)
  if (word /= '2' .or. length /= 1) bad = bad + 1
  call get_command_argument(3, word)
  if (word /= '-third') bad = bad + 1
  call get_environment_variable('TEST_WORD', name)
  if (name /= 'hello') bad = bad + 1
  !$omp end parallel
  print *, bad

  call random_seed(size=n)
  seed = 12345
  call random_seed(put=seed(1:n))
  call random_number(x)
  call random_seed(put=seed(1:n))
  call random_number(y)
  !$omp parallel do reduction(+:bad)
  do i = 1, 1000
    if (x(i) /= y(i) .or. x(i) < 0 .or. x(i) >= 1) bad = bad + 1
  end do
  print *, bad, sum(x) > 400 .and. sum(x) < 600

  call system_clock(before, rate)
  call cpu_time(t0)
  call date_and_time(date, time, values=values)
  call system_clock(after)
  call cpu_time(t1)
  print *, rate > 0, after >= before, t1 >= t0, values(1) > 2000, len_trim(date), values(2) >= 1 .and. values(2) <= 12
end program

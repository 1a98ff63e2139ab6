! Tasks as flang makes them: recursion, dependences, taskloop with its options, task groups with reductions in plain variables.
module work
  implicit none
contains
  recursive function fib(n) result(value)
    integer, intent(in) :: n
    integer :: value, a, b
    if (n < 2) then
      value = n
      return
    end if
    !$omp task shared(a) firstprivate(n) if(n > 6)
    a = fib(n - 1)
    !$omp end task
    !$omp task shared(b) firstprivate(n) if(n > 6)
    b = fib(n - 2)
    !$omp end task
    !$omp taskwait
    value = a + b
  end function
end module

program tasks
  use work
  implicit none
  integer, parameter :: n = 400
  real(8), allocatable :: a(:), b(:)
  integer :: chain(8), i, k, sum_of_squares, shift
  real(8) :: factor

  !$omp parallel
  !$omp single
  print '(a, i6)', 'fib', fib(14)
  !$omp end single
  !$omp end parallel

  allocate(a(n), b(n))
  factor = 0.5
  shift = 3
  !$omp parallel default(none) shared(a, b, factor) firstprivate(shift) private(i, k)
  !$omp master
  !$omp taskloop firstprivate(shift) private(i)
  do i = 1, n
    a(i) = i + shift
    b(i) = 2 * i
  end do
  !$omp end taskloop
  do k = 1, 5
    !$omp taskloop grainsize(30) shared(a, b, factor) private(i)
    do i = 1, n
      a(i) = a(i) + factor * b(i)
    end do
    !$omp end taskloop
    !$omp taskloop num_tasks(7) shared(a, b)
    do i = 1, n
      b(i) = b(i) + 1
    end do
    !$omp end taskloop
  end do
  !$omp end master
  !$omp end parallel
  print '(a, 2f12.1)', 'loops', sum(a), sum(b)

  chain = 0
  !$omp parallel
  !$omp single
  do k = 1, 10
    do i = 2, 8
      !$omp task depend(in: chain(i - 1)) depend(inout: chain(i)) firstprivate(i, k)
      chain(i) = chain(i) + chain(i - 1) + i * k
      !$omp end task
    end do
  end do
  !$omp end single
  !$omp end parallel
  print '(a, 8i8)', 'chain', chain

  sum_of_squares = 0
  !$omp parallel
  !$omp single
  !$omp taskgroup
  do i = 1, 50
    !$omp task firstprivate(i) shared(sum_of_squares)
    !$omp atomic
    sum_of_squares = sum_of_squares + i * i
    !$omp end task
  end do
  !$omp end taskgroup
  print '(a, i8)', 'squares', sum_of_squares
  !$omp end single
  !$omp end parallel
end program

! workshare, where, forall and single with copyprivate.
program workshares
  implicit none
  integer, parameter :: n = 120
  real(8) :: a(n), b(n), c(n, n), s
  integer :: i, m
  real(8), allocatable :: d(:)

  a = [(dble(i), i = 1, n)]
  !$omp parallel workshare
  b = a * 2
  where (b > 100)
    b = 100
  elsewhere
    b = -b
  end where
  c = spread(a, 2, n)
  forall (i = 1:n) c(i, i) = 0
  s = sum(c)
  !$omp end parallel workshare
  print '(4f12.1)', sum(b), s, c(3, 3), c(3, 4)
  !$omp parallel private(m) shared(d)
  !$omp single
  m = 12
  allocate(d(m))
  !$omp end single copyprivate(m)
  !$omp do
  do i = 1, m
    d(i) = i * m
  end do
  !$omp workshare
  a(1:m) = d
  d = d + a(1:m)
  !$omp end workshare
  !$omp end parallel
  print '(6f8.1)', d
end program

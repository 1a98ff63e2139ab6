! Private, firstprivate, lastprivate and reduction variables, arrays and derived types among them.
program clauses
  implicit none
  type pair
    integer :: a
    real(8) :: b(2)
  end type
  integer :: i, j, first(5), last(4), low, high, bits, n
  real(8) :: sums(10), product, auto
  real(8), allocatable :: grown(:), shares(:)
  complex(8) :: z
  logical :: every, some
  type(pair) :: p
  character(4) :: word

  first = [1, 2, 3, 4, 5]
  n = 100
  grown = [1d0, 2d0]
  p = pair(3, [4d0, 5d0])
  word = 'abcd'
  sums = 0
  product = 1
  z = (0, 0)
  low = 1000
  high = -1000
  bits = 0
  every = .true.
  some = .false.
  !$omp parallel do firstprivate(first, grown, p, word) lastprivate(last, auto) &
  !$omp& reduction(+:sums, z) reduction(*:product) reduction(min:low) reduction(max:high) &
  !$omp& reduction(ior:bits) reduction(.and.:every) reduction(.or.:some) private(j)
  do i = 1, n
    do j = 1, 10
      sums(j) = sums(j) + i * j + first(1) + grown(2) + p%b(1)
    end do
    last = [i, i + 1, i + 2, i + 3]
    auto = i / 2d0
    z = z + cmplx(i, -1, 8)
    if (i <= 10) product = product * i
    low = min(low, mod(i * 37, 101))
    high = max(high, mod(i * 37, 101))
    bits = ior(bits, ishft(1, mod(i, 20)))
    every = every .and. i > 0
    some = some .or. i == 77
    if (word /= 'abcd') sums = -1
  end do
  print '(10f9.1)', sums
  print *, last, auto, z, product, low, high, bits, every, some

  allocate(shares(8))
  shares = 0
  !$omp parallel do reduction(+:shares)
  do i = 1, 64
    shares(mod(i, 8) + 1) = shares(mod(i, 8) + 1) + 0.25d0 * i
  end do
  print '(8f7.2)', shares
  !$omp parallel private(first, p) default(shared)
  first = 0
  p = pair(0, [0d0, 0d0])
  !$omp end parallel
  print *, first, p%a, p%b, word
end program

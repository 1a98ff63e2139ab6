! Array intrinsics of the library in one process on data that others have just written.
program intrinsics
  implicit none
  integer, parameter :: n = 24
  real(8) :: a(n, n), b(n, n), c(n, n), v(n)
  integer :: k(n), i, j, round
  integer, allocatable :: packed(:)
  logical :: mask(n)
  complex(8) :: z(n)

  do round = 1, 3
    !$omp parallel do private(i)
    do j = 1, n
      do i = 1, n
        a(i, j) = mod(i * j * round, 17)
        b(i, j) = mod(i + 3 * j + round, 11)
      end do
      k(j) = mod(j * 7 * round, n)
      z(j) = cmplx(j, round, 8)
      mask(j) = mod(j, round + 1) == 0
    end do
    !$omp parallel sections
    !$omp section
    c = matmul(a, transpose(b))
    v = matmul(a, b(:, 1))
    !$omp section
    packed = pack(k, mask)
    k = cshift(k, round)
    !$omp section
    z = conjg(z) * dot_product(z, z)
    !$omp end parallel sections
    !$omp parallel sections
    !$omp section
    b = reshape(c, [n, n], order=[2, 1])
    !$omp section
    a(:, 1) = unpack(dble(packed), mask, v)
    a(:, 2) = eoshift(v, 2, -1d0)
    !$omp end parallel sections
    print *, nint(sum(c)), nint(v(1:4)), size(packed), sum(packed), maxloc(c), minloc(k), maxval(k, mask=mask)
    print *, count(mask), any(k == 3), all(k >= 0), product(k(1:3) + 1), nint(sum(b, dim=1)), nint(sum(a(:, 1:2)))
    print *, nint(abs(sum(z))), findloc(k, 5), iany(k), parity(mask), nint(norm2(v)), dot_product(k, k)
  end do
  print *, merge(k(1:5), -1, mask(1:5)), spread(k(1:2), 1, 2), cshift(k(1:6), -2), maxval(c(:, 3)), transfer(1.0, 1)
end program

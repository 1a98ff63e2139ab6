! Module variables and common blocks with parts in several objects, one of them without initial values.
program several_files
  use settings
  implicit none
  common /shared/ counts(8), factor, label
  integer counts
  real factor
  character(8) label
  common /plain/ squares(n)
  integer squares
  integer :: i

  allocate(field(n))
  !$omp parallel do
  do i = 1, n
    field(i) = scale * i
    squares(i) = i * i
  end do
  scale = 4
  !$omp parallel do reduction(+:total)
  do i = 1, n
    total = total + field(n + 1 - i) * scale
  end do
  !$omp parallel do schedule(static, 1)
  do i = 1, 8
    call raise(i)
  end do
  !$omp parallel
  !$omp single
  label = 'changed'
  !$omp end single
  !$omp end parallel
  call locals()
  print '(f12.1, i8, 8i4, f6.2, 1x, a)', total, sum(squares) / n, counts, factor, label

contains

  ! Local variables that teams of procedures elsewhere reach through their dummy arguments.
  subroutine locals()
    use teams
    integer :: values(100), weights(4), k
    do k = 1, 100
      values(k) = k
    end do
    weights = [3, 1, 4, 1]
    k = 3
    call double_all(values, k)
    call add_each(values, size(values), weights)
    call double_all(values(1:100:2), 1)
    print '(10i6)', values
  end subroutine
end program

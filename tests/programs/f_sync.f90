! Critical sections, atomics of all forms, locks, flush and barriers.
program synchronisation
  use omp_lib
  implicit none
  integer, parameter :: n = 2000
  integer :: i, old, hits, flag, message, stored, seen
  integer(8) :: big
  real(8) :: x, top
  logical :: all_ok
  character(10) :: last
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer :: bins(16)

  hits = 0
  big = 0
  x = 0
  top = -1
  all_ok = .true.
  bins = 0
  stored = 0
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  !$omp parallel do private(old)
  do i = 1, n
    !$omp atomic
    hits = hits + 1
    !$omp atomic capture
    old = bins(mod(i, 16) + 1)
    bins(mod(i, 16) + 1) = bins(mod(i, 16) + 1) + 2
    !$omp end atomic
    if (mod(old, 2) /= 0) all_ok = .false.
    !$omp atomic update
    x = x + 0.5d0
    !$omp atomic
    top = max(top, dble(mod(i * 7, 1009)))
    !$omp critical (one)
    big = big + i
    !$omp end critical (one)
    if (mod(i, 50) == 0) then
      call omp_set_lock(lock)
      stored = stored + i
      call omp_unset_lock(lock)
      call omp_set_nest_lock(nest)
      call omp_set_nest_lock(nest)
      last = 'nested'
      call omp_unset_nest_lock(nest)
      call omp_unset_nest_lock(nest)
    end if
  end do
  call omp_destroy_lock(lock)
  print *, hits, big, x, top, all_ok, bins(1), bins(16), stored, last

  ! A flag between two threads, if there are two.
  flag = 0
  message = 0
  seen = 17
  !$omp parallel num_threads(2) private(old)
  if (omp_get_num_threads() == 2) then
    if (omp_get_thread_num() == 0) then
      message = 17
      !$omp flush
      !$omp atomic write
      flag = 1
      !$omp flush
    else
      do
        !$omp atomic read
        old = flag
        if (old == 1) exit
      end do
      !$omp flush
      seen = message
    end if
  end if
  !$omp end parallel
  print *, seen
end program

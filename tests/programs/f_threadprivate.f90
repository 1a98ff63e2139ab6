! Threadprivate common blocks and module variables: initial values, copies that last, copyin.
module own
  implicit none
  integer :: counter = 41
  real(8) :: weights(3) = [1, 2, 3]
  integer, pointer :: link => null()
  !$omp threadprivate(counter, weights, link)
end module

block data
  common /state/ seed, name
  integer seed
  character(8) name
  !$omp threadprivate(/state/)
  data seed /1234/, name /'initial'/
end block data

program threadprivates
  use own
  use omp_lib
  implicit none
  common /state/ seed, name
  integer seed
  character(8) name
  !$omp threadprivate(/state/)
  integer :: wrong, i
  integer, save :: late = 5
  !$omp threadprivate(late)

  ! The initial thread changes its own before anybody else has looked.
  seed = 7
  counter = 99
  weights = 0
  late = 6
  wrong = 0
  !$omp parallel reduction(+:wrong)
  if (omp_get_thread_num() > 0) then
    if (seed /= 1234 .or. name /= 'initial') wrong = wrong + 1
    if (counter /= 41 .or. any(weights /= [1, 2, 3]) .or. associated(link)) wrong = wrong + 1
    if (late /= 5) wrong = wrong + 1
  else
    if (seed /= 7 .or. counter /= 99 .or. late /= 6) wrong = wrong + 1
  end if
  counter = omp_get_thread_num()
  weights(2) = counter * 2
  !$omp end parallel
  !$omp parallel reduction(+:wrong)
  if (counter /= omp_get_thread_num() .or. weights(2) /= counter * 2) wrong = wrong + 1
  !$omp end parallel
  weights = 8
  !$omp parallel copyin(weights) reduction(+:wrong)
  if (any(weights /= 8)) wrong = wrong + 1
  !$omp end parallel
  name = 'copied'
  seed = 55
  !$omp parallel copyin(/state/) reduction(+:wrong)
  if (name /= 'copied' .or. seed /= 55) wrong = wrong + 1
  seed = seed + omp_get_thread_num()
  !$omp single
  counter = 1000
  !$omp end single copyprivate(counter)
  if (counter /= 1000) wrong = wrong + 1
  !$omp barrier
  call check(wrong)
  !$omp end parallel
  print *, wrong, seed, name, counter
end program

subroutine check(wrong)
  use omp_lib
  implicit none
  integer, intent(inout) :: wrong
  common /state/ seed, name
  integer seed
  character(8) name
  !$omp threadprivate(/state/)
  if (seed /= 55 + omp_get_thread_num()) wrong = wrong + 1
end subroutine

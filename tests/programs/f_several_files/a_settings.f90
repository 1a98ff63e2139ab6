! A module that two other files use.
module settings
  implicit none
  integer, parameter :: n = 1000
  integer :: scale = 3
  real(8), allocatable :: field(:)
  real(8), save :: total = 0
end module

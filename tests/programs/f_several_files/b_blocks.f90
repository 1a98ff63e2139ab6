! Initial values of a named common block, and a routine with a view of its own.
block data
  common /shared/ counts(8), factor, label
  integer counts
  real factor
  character(8) label
  data counts /1, 2, 3, 4, 5, 6, 7, 8/, factor /0.5/, label /'initial'/
end block data

subroutine raise(i)
  common /shared/ words(8), factor, label
  integer words
  real factor
  character(8) label
  integer, intent(in) :: i
  words(i) = words(i) + int(10 * factor) * i
end subroutine

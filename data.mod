!mod$ v1 sum:362a0aa45eb25f9c
module data
integer(4),parameter::parts=6_4
integer(4),parameter::per=1100_4
integer(4),parameter::n=6600_4
real(8),allocatable::a(:)
real(8),allocatable::b(:)
real(8)::plane(1_8:1100_8,1_8:6_8)
real(8)::cube(1_8:40_8,1_8:30_8,1_8:6_8)
complex(8)::z(1_8:6600_8)
contains
subroutine work(kind,part,round)
integer(4),intent(in)::kind
integer(4),intent(in)::part
integer(4),intent(in)::round
end
subroutine copy(to,from,count)
integer(4),intent(in)::count
real(8),intent(out)::to(1_8:int(count,kind=8))
real(8),intent(in)::from(1_8:int(count,kind=8))
end
end

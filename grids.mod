!mod$ v1 sum:4ef73237b1ed6460
module grids
real(8),allocatable::field(:,:,:)
real(8),allocatable::flow(:,:,:)
contains
subroutine sweep(n1,n2,n3)
integer(4),intent(in)::n1
integer(4),intent(in)::n2
integer(4),intent(in)::n3
end
subroutine invert(a,n)
integer(4),intent(in)::n
real(8),intent(inout)::a(1_8:int(n,kind=8))
end
subroutine shift(a,first,last,by)
real(8),intent(inout)::a(-20_8:)
integer(4),intent(in)::first
integer(4),intent(in)::last
real(8),intent(in)::by
end
subroutine scale(a,b)
real(8),intent(inout)::a(:)
real(8),intent(in)::b(:)
end
subroutine all_planes(n1,n2,n3)
integer(4),intent(in)::n1
integer(4),intent(in)::n2
integer(4),intent(in)::n3
end
end

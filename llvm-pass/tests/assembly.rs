//! Which inline assembly counts as an atomic operation, from its text and its constraints without LLVM.

use dsm_pass::analysis::assembly::{Input, Operation, Output, parse};

#[test]
fn common_operations_are_understood() {
    let place = |place, same: &[u32]| (place, same.to_vec());
    let cases = [
        ("lock; xadd %eax, $2;", "={ax},{ax},*m,~{memory}", 2, Operation::Add, Some(32), place(1, &[])),
        ("lock; xadd %al, $2;", "={ax},{ax},*m", 2, Operation::Add, Some(8), place(1, &[])),
        ("lock; xaddl $0, $1", "=r,=*m,0,*m,~{flags}", 3, Operation::Add, Some(32), place(0, &[2])),
        ("xchgq $0,$1", "=r,*m,0", 2, Operation::Exchange, Some(64), place(0, &[])),
        ("lock xchg $1, $0", "=r,=*m,0,*m", 3, Operation::Exchange, None, place(0, &[2])),
        ("lock\n\tincl $0", "=*m,*m", 2, Operation::Add, Some(32), place(0, &[1])),
        ("lock; subw $1,$0", "=*m,ir,*m", 3, Operation::Sub, Some(16), place(0, &[2])),
        ("lock; orb $$4,$0", "=*m,*m", 2, Operation::Or, Some(8), place(0, &[1])),
        ("lock; cmpxchgl $1,$2", "={ax},r,*m,0", 3, Operation::CompareExchange, Some(32), place(1, &[])),
    ];
    for (text, constraints, arguments, operation, bits, (place, same_place)) in cases {
        let atomic = parse(text, constraints, arguments).expect(text);
        assert_eq!((atomic.operation, atomic.bits), (operation, bits), "{text}");
        assert_eq!((atomic.place, atomic.same_place), (place, same_place), "{text}");
    }
}

#[test]
fn a_compare_and_swap_may_be_followed_by_a_test() {
    let atomic = parse("lock; cmpxchgl $3,$1 ; sete $0", "=q,=*m,={ax},r,*m,2,~{cc}", 4).unwrap();
    assert_eq!(atomic.outputs, [Output::Swapped(8), Output::Old]);
    assert_eq!((atomic.operand, atomic.expected), (Input::Argument(1), Some(Input::Argument(3))));
    let text = "lock\n\tcmpxchgl $2,$1 ;\n\t sete\t%al ; movzbl %al,$0 ; 1:";
    let atomic = parse(text, "={ax},=*m,r,{ax},*m,~{memory}", 4).unwrap();
    assert_eq!(atomic.outputs, [Output::Swapped(64)]);
}

#[test]
fn what_is_not_said_in_full_is_left() {
    for (text, constraints, arguments) in [
        ("addl $1,$0", "=*m,r,*m", 3),
        ("lock; decl $0; sete $1", "=*m,=*qm,*m", 3),
        ("lock; decl $0", "=*m,={@ccz},*m", 2),
        ("lock; xaddl %rax, $2", "={ax},{ax},*m", 2),
        ("lock; orb $$010,$0", "=*m,*m", 2),
        ("lock; cmpxchgl $3,$1 ; sete %al ; movzbl %al,$0", "=r,=*m,={ax},r,*m,2", 4),
        ("lock; cmpxchg16b $0", "=*m,={ax},={dx},{bx},{cx},0,1,2", 6),
        ("mfence", "~{memory}", 0),
        ("lock; xaddl $0, ${1:k}", "=r,=*m,0,*m", 3),
        ("lock; xaddl $1, $0; movl $1, $2", "=*m,=r,=r,1,*m", 3),
        ("lock; addl $1,$0", "=*m,r,*m,r", 4),
        ("pause", "", 0),
    ] {
        assert_eq!(parse(text, constraints, arguments), None, "{text}");
    }
}

# The note of a program that dsm-cc compiled, with checks in its code; VERSION is replaced.
    .section .note.dsm, "a", @note
    .balign 4
    .long 4, 12, 1
    .asciz "dsm"
    .long VERSION, 10, 0
    .section .note.GNU-stack, "", @progbits

# The note of a program that dsm-cc compiled; VERSION is replaced.
    .section .note.dsm, "a", @note
    .balign 4
    .long 4, 8, 1
    .asciz "dsm"
    .long VERSION, 10
    .section .note.GNU-stack, "", @progbits

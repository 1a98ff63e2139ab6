/* Stands in for the `main` of a program that has none: that deserves a better message than the linker's. It has an object of its own,
 * behind all libraries of the program, so that the linker takes it only if none of them has one. Were the reference weak
 * instead, a library would not be asked. */
#include "internal.h"

__attribute__((weak)) int __dsm_user_main(int argc, char **argv, char **envp) {
    (void)argc, (void)argv, (void)envp;
    dsm_rt_no_user_main();
}

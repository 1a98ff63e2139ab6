/* The C `main` of a linked program. It stands alone in its object so that Rust test programs, which bring
 * their own `main`, never pull it out of the archive. */
#include "internal.h"

__attribute__((section(".preinit_array"), used)) static void (*const before_constructors)(void) = dsm_rt_before_constructors;

/* The program's: a link without one fails. */
extern int __dsm_user_main(int, char **, char **);

int main(int argc, char **argv, char **envp) {
    dsm_rt_set_user_main(__dsm_user_main);
    return dsm_rt_start(argc, argv, envp);
}

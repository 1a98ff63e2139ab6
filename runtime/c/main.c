/* The C `main` of a linked program. It stands alone in its object so that Rust test programs, which bring
 * their own `main`, never pull it out of the archive. */
#include "internal.h"

int main(int argc, char **argv, char **envp) { return dsm_rt_start(argc, argv, envp); }

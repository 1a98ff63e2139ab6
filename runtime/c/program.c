/* What the runtime wants from the program. */
#include "image.h"
#include "internal.h"

static int (*user_main)(int, char **, char **);

void dsm_rt_set_user_main(int (*function)(int, char **, char **)) { user_main = function; }

int dsm_rt_user_main(int argc, char **argv, char **envp) { return user_main(argc, argv, envp); }

const struct dsm_image *dsm_rt_program_image(void) {
    static const struct dsm_image image = DSM_IMAGE;
    return &image;
}

/* Where the launcher was when the program was linked: a string of the driver's linker script. */
__attribute__((weak, visibility("hidden"))) extern const char __dsm_launcher[];

const char *dsm_rt_launcher(void) { return __dsm_launcher; }

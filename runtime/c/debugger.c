/* Gives gdb the commands of gdb/dsm.py with each program: it runs what a linked file has in this section, if the user trusts the file. The section
 * takes no memory. */
#include "internal.h"

__asm__(".pushsection .debug_gdb_scripts, \"\", @progbits\n"
        "\t.byte 4\n" /* a script in Python, as text behind its name */
        "\t.ascii \"dsm.py\\n\"\n"
        "\t.incbin \"dsm.py\"\n"
        "\t.byte 0\n"
        "\t.popsection");

/* What the commands call. Referred to here, so that a linker which collects garbage keeps them with the runtime. */
const void *const dsm_rt_debugger_entries[] = {
    (const void *)dsm_rt_debug_job,
    (const void *)dsm_rt_debug_block,
    (const void *)dsm_rt_debug_read,
};

/* Hides the C library's header of this name, whose inline functions (`putc_unlocked` and relatives) reach into the stream: it may be
   one of another process. Calls of the functions themselves are given the right one. */

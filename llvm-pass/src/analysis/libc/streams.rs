//! Functions that use a stream of the C library.

/// Functions that use a stream, and the argument that it is.
#[rustfmt::skip]
pub const STREAMS: &[(&str, u32)] = &[
    ("fprintf", 0), ("vfprintf", 0), ("__fprintf_chk", 0), ("__vfprintf_chk", 0),
    ("fscanf", 0), ("__isoc99_fscanf", 0), ("__isoc23_fscanf", 0),
    ("vfscanf", 0), ("__isoc99_vfscanf", 0), ("__isoc23_vfscanf", 0),
    ("fgetc", 0), ("getc", 0), ("_IO_getc", 0), ("ungetc", 1), ("fgets", 2), ("fgets_unlocked", 2), ("__fgets_chk", 3),
    ("__fgets_unlocked_chk", 3), ("fgetc_unlocked", 0), ("getc_unlocked", 0), ("__fread_unlocked_chk", 4),
    ("fputc_unlocked", 1), ("putc_unlocked", 1), ("feof_unlocked", 0), ("ferror_unlocked", 0), ("clearerr_unlocked", 0), ("fileno_unlocked", 0),
    ("fgetwc", 0), ("getwc", 0), ("fputwc", 1), ("putwc", 1), ("ungetwc", 1), ("fputws", 1), ("fgetws", 2), ("fwprintf", 0), ("fwscanf", 0),
    ("fread", 3), ("fread_unlocked", 3), ("__fread_chk", 4),
    ("fputc", 1), ("putc", 1), ("_IO_putc", 1), ("fputs", 1), ("fputs_unlocked", 1),
    ("fwrite", 3), ("fwrite_unlocked", 3),
    ("feof", 0), ("ferror", 0), ("clearerr", 0), ("fileno", 0), ("rewind", 0),
    ("fseek", 0), ("fseeko", 0), ("fseeko64", 0), ("ftell", 0), ("ftello", 0), ("ftello64", 0),
    ("fgetpos", 0), ("fgetpos64", 0), ("fsetpos", 0), ("fsetpos64", 0),
    ("setvbuf", 0), ("setbuf", 0), ("setbuffer", 0), ("ftrylockfile", 0), ("setlinebuf", 0), ("flockfile", 0), ("funlockfile", 0),
];

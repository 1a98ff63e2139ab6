//! Functions that use a stream of the C library or a file descriptor.

/// Functions that use a stream, and the argument that it is.
#[rustfmt::skip]
pub const STREAMS: &[(&str, u32)] = &[
    ("fprintf", 0), ("vfprintf", 0), ("__fprintf_chk", 0), ("__vfprintf_chk", 0),
    ("fscanf", 0), ("__isoc99_fscanf", 0), ("__isoc23_fscanf", 0),
    ("vfscanf", 0), ("__isoc99_vfscanf", 0), ("__isoc23_vfscanf", 0),
    ("fgetc", 0), ("getc", 0), ("_IO_getc", 0), ("ungetc", 1), ("__fgets_chk", 3),
    ("__fgets_unlocked_chk", 3), ("fgetc_unlocked", 0), ("getc_unlocked", 0), ("__fread_unlocked_chk", 4),
    ("fputc_unlocked", 1), ("putc_unlocked", 1), ("ferror_unlocked", 0),
    ("fgetwc", 0), ("getwc", 0), ("fputwc", 1), ("putwc", 1), ("ungetwc", 1), ("fputws", 1), ("fgetws", 2), ("fwprintf", 0), ("fwscanf", 0),
    ("__fread_chk", 4),
    ("vfwprintf", 0), ("vfwscanf", 0), ("__isoc99_fwscanf", 0), ("__isoc23_fwscanf", 0), ("__isoc99_vfwscanf", 0), ("__isoc23_vfwscanf", 0),
    ("__fwprintf_chk", 0), ("__vfwprintf_chk", 0), ("__fgetws_chk", 3), ("getw", 0), ("putw", 1), ("fwide", 0),
    ("fputc", 1), ("putc", 1), ("_IO_putc", 1), ("fputs", 1), ("fputs_unlocked", 1),
    ("fwrite", 3), ("fwrite_unlocked", 3),
    ("ferror", 0), ("rewind", 0),
    ("fseek", 0), ("fseeko", 0), ("fseeko64", 0), ("ftell", 0), ("ftello", 0), ("ftello64", 0),
    ("fgetpos", 0), ("fgetpos64", 0), ("fsetpos", 0), ("fsetpos64", 0),
    ("ftrylockfile", 0), ("flockfile", 0), ("funlockfile", 0),
];

/// Functions that use a file descriptor, likewise.
#[rustfmt::skip]
pub const DESCRIPTORS: &[(&str, u32)] = &[
    ("preadv", 0), ("preadv64", 0), ("readv", 0), ("__read_chk", 0), ("__pread_chk", 0),
    ("__pread64_chk", 0), ("pwritev", 0), ("pwritev64", 0), ("writev", 0), 
    ("syncfs", 0), ("fallocate", 0),
    ("fallocate64", 0), ("posix_fallocate", 0), ("posix_fallocate64", 0), ("posix_fadvise", 0), ("posix_fadvise64", 0), 
    ("fstatfs", 0), ("fstatfs64", 0), ("fstatvfs", 0), ("fstatvfs64", 0), ("fchmod", 0), ("fchown", 0), ("fchdir", 0),
    ("futimens", 0), ("futimes", 0), ("flock", 0), ("lockf", 0), ("lockf64", 0), ("ttyname", 0), ("ttyname_r", 0),
    ("fpathconf", 0), ("fdopendir", 0), ("dprintf", 0), ("vdprintf", 0), ("__dprintf_chk", 0), ("__vdprintf_chk", 0), ("send", 0),
    ("sendto", 0), ("sendmsg", 0), ("recvmsg", 0), ("__recv_chk", 0), ("__recvfrom_chk", 0), ("connect", 0),
    ("bind", 0), ("listen", 0), ("shutdown", 0), ("getsockopt", 0), ("setsockopt", 0), ("getsockname", 0), ("getpeername", 0),
    ("epoll_wait", 0), ("epoll_pwait", 0), ("eventfd_read", 0), ("eventfd_write", 0), ("timerfd_settime", 0), ("timerfd_gettime", 0),
    ("tcgetattr", 0), ("tcsetattr", 0), ("fstatat", 0), ("fstatat64", 0), ("statx", 0), ("unlinkat", 0), ("mkdirat", 0), ("readlinkat", 0),
    ("faccessat", 0), ("utimensat", 0), ("sendfile", 0), ("sendfile", 1), ("sendfile64", 0), ("sendfile64", 1), ("splice", 0),
    ("splice", 2), ("copy_file_range", 0), ("copy_file_range", 2), ("epoll_ctl", 0), ("epoll_ctl", 2), ("renameat", 0), ("renameat", 2),
    ("linkat", 0), ("linkat", 2), ("symlinkat", 1),
];

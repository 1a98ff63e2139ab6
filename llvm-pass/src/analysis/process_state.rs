//! Functions that change or show what a process has once, or that keep their result in memory of the C library.
//!
//! A program takes all of that for its own, whichever process a thread is in: the runtime has functions of the same types, which make their arguments valid
//! themselves.

/// Functions of the runtime for them, as in [`LIBRARY_VARIADIC`][super::callee::LIBRARY_VARIADIC].
#[rustfmt::skip]
pub const PROCESS_STATE: &[(&str, &str, &str)] = &[
    // environment, working directory, settings
    ("setenv", "__dsm_setenv", "i:ppi"), ("unsetenv", "__dsm_unsetenv", "i:p"), ("clearenv", "__dsm_clearenv", "i:"),
    ("getenv", "__dsm_getenv", "p:p"), ("secure_getenv", "__dsm_secure_getenv", "p:p"), ("chdir", "__dsm_chdir", "i:p"),
    ("fchdir", "__dsm_fchdir", "i:i"), ("umask", "__dsm_umask", "i:i"), ("setlocale", "__dsm_setlocale", "p:ip"),
    ("setrlimit", "__dsm_setrlimit", "i:ip"), ("setrlimit64", "__dsm_setrlimit", "i:ip"), ("nice", "__dsm_nice", "i:i"),
    ("setpriority", "__dsm_setpriority", "i:iii"), ("getpid", "__dsm_getpid", "i:"),
    ("_ZNSt6locale6globalERKS_", "__dsm_locale_global", "v:pp"), ("_ZSt15set_new_handlerPFvvE", "__dsm_set_new_handler", "p:p"),
    ("_ZSt13set_terminatePFvvE", "__dsm_set_terminate", "p:p"),
    ("_ZNSt6locale5_ImplC1ERKS0_m", "__dsm_locale_copy", "v:ppl"), ("_ZNSt6locale5_ImplC2ERKS0_m", "__dsm_locale_copy", "v:ppl"),
    ("_ZNSt6locale5_ImplD1Ev", "__dsm_locale_implementation_end", "v:p"),
    ("_ZNSt6locale5_ImplD2Ev", "__dsm_locale_implementation_end", "v:p"), ("_ZNSt6localeD1Ev", "__dsm_locale_end", "v:p"),
    ("_ZNSt6localeD2Ev", "__dsm_locale_end", "v:p"), ("_ZNSt6localeaSERKS_", "__dsm_locale_assign", "p:pp"),
    ("_ZNSt8ios_baseD2Ev", "__dsm_stream_end", "v:p"), ("_ZNSt6localeC1ERKS_S1_i", "__dsm_locale_combine", "v:pppi"),
    ("_ZNSt6localeC2ERKS_S1_i", "__dsm_locale_combine", "v:pppi"), ("_ZNSt6localeC1ERKS_PKci", "__dsm_locale_named", "v:pppi"),
    ("_ZNSt6localeC2ERKS_PKci", "__dsm_locale_named", "v:pppi"),
    ("_ZNSt6locale5_Impl16_M_replace_facetEPKS0_PKNS_2idE", "__dsm_locale_replace", "v:ppp"),
    // signals
    ("signal", "__dsm_signal", "p:ip"), ("bsd_signal", "__dsm_signal", "p:ip"), ("ssignal", "__dsm_signal", "p:ip"),
    ("__sysv_signal", "__dsm_sysv_signal", "p:ip"), ("sysv_signal", "__dsm_sysv_signal", "p:ip"), ("sigaction", "__dsm_sigaction", "i:ipp"),
    ("siginterrupt", "__dsm_siginterrupt", "i:ii"), ("sigaltstack", "__dsm_sigaltstack", "i:pp"),
    // random numbers
    ("rand", "__dsm_rand", "i:"), ("srand", "__dsm_srandom", "v:i"), ("random", "__dsm_random", "l:"), ("srandom", "__dsm_srandom", "v:i"),
    ("initstate", "__dsm_initstate", "p:ipl"), ("setstate", "__dsm_setstate", "p:p"), ("drand48", "__dsm_drand48", "d:"),
    ("lrand48", "__dsm_lrand48", "l:"), ("mrand48", "__dsm_mrand48", "l:"), ("erand48", "__dsm_erand48", "d:p"),
    ("nrand48", "__dsm_nrand48", "l:p"), ("jrand48", "__dsm_jrand48", "l:p"), ("srand48", "__dsm_srand48", "v:l"),
    ("seed48", "__dsm_seed48", "p:p"), ("lcong48", "__dsm_lcong48", "v:p"),
    // results
    ("gmtime", "__dsm_gmtime", "p:p"), ("localtime", "__dsm_localtime", "p:p"), ("asctime", "__dsm_asctime", "p:p"),
    ("ctime", "__dsm_ctime", "p:p"), ("inet_ntoa", "__dsm_inet_ntoa", "p:i"), ("l64a", "__dsm_l64a", "p:l"),
    ("ecvt", "__dsm_ecvt", "p:dipp"), ("fcvt", "__dsm_fcvt", "p:dipp"), ("tmpnam", "__dsm_tmpnam", "p:p"),
    ("tempnam", "__dsm_tempnam", "p:pp"), ("ctermid", "__dsm_ctermid", "p:p"), ("strerror", "__dsm_strerror", "p:i"),
    ("strsignal", "__dsm_strsignal", "p:i"), ("nl_langinfo", "__dsm_nl_langinfo", "p:i"), ("ttyname", "__dsm_ttyname", "p:i"),
    ("ptsname", "__dsm_ptsname", "p:i"), ("getlogin", "__dsm_getlogin", "p:"), ("dlerror", "__dsm_dlerror", "p:"),
    ("gai_strerror", "__dsm_gai_strerror", "p:i"), ("hstrerror", "__dsm_hstrerror", "p:i"), ("gettext", "__dsm_gettext", "p:p"),
    ("dgettext", "__dsm_dgettext", "p:pp"), ("dcgettext", "__dsm_dcgettext", "p:ppi"), ("ngettext", "__dsm_ngettext", "p:ppl"),
    ("textdomain", "__dsm_textdomain", "p:p"), ("bindtextdomain", "__dsm_bindtextdomain", "p:pp"),
    ("localeconv", "__dsm_localeconv", "p:"), ("getpwent", "__dsm_getpwent", "p:"), ("getpwnam", "__dsm_getpwnam", "p:p"),
    ("getpwuid", "__dsm_getpwuid", "p:i"), ("getgrent", "__dsm_getgrent", "p:"), ("getgrnam", "__dsm_getgrnam", "p:p"),
    ("getgrgid", "__dsm_getgrgid", "p:i"), ("gethostbyname", "__dsm_gethostbyname", "p:p"),
    ("getservbyname", "__dsm_getservbyname", "p:pp"), ("getservbyport", "__dsm_getservbyport", "p:ip"),
    ("getprotobyname", "__dsm_getprotobyname", "p:p"), ("getprotobynumber", "__dsm_getprotobynumber", "p:i"),
];

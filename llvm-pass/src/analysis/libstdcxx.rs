//! What the compiled part of libstdc++ reads and writes, by mangled name.
//!
//! Little is left of it: the driver's headers (`runtime/cxx`) have the templates compiled with checks and the rest of the
//! containers inlined. Sizes are those of the x86-64 and AArch64 ABI, which are frozen.

use super::libc::{
    Effect, R,
    Rule::{A, End, N, S},
    W,
};

/// Bytes of a `std::ios_base`.
const IOS_BASE: u64 = 216;
/// What the driver's headers call for a stream that code of the library is about to use.
const STREAM: &str = "__dsm_ios_base";
/// Bytes of a `std::locale`, of an exception pointer: one pointer.
const POINTER: u64 = 8;
/// Bytes of a `std::condition_variable`.
const CONDITION: u64 = 48;
/// Bytes of the file in a file buffer.
const FILE: u64 = 16;
/// A `std::string` itself.
const STRING: u64 = 32;
/// A `std::error_code`; a `std::system_error`, and what is derived from it without members.
const ERROR_CODE: u64 = 16;
const SYSTEM_ERROR: u64 = 32;
/// A `std::regex_error`.
const REGEX_ERROR: u64 = 24;
/// A `std::locale::facet`: functions, references; one with a pointer to what it has; one with more; those that tell kinds of characters.
const COUNTED: u64 = 16;
const FACET: u64 = 24;
const TIMEPUNCT: u64 = 40;
const NARROW_CTYPE: u64 = 576;
const WIDE_CTYPE: u64 = 1344;
/// A `struct tm`; the format of a number.
const TIME: u64 = 56;
const FORMAT: u64 = 16;
/// A `std::random_device`.
const RANDOM_DEVICE: u64 = 5000;

/// What a function touches; `None` if it is not known.
pub fn effects(name: &str) -> Option<&'static [Effect]> {
    if name == STREAM {
        return Some(&[(W, 0, N(IOS_BASE))]);
    }
    if !name.starts_with("_Z") && !name.starts_with("__cxa_") {
        return None;
    }
    table(name).or_else(|| by_shape(name))
}

/// Functions that start threads, wait for them or wake them, or change counts of references (in `runtime/c/exception.c`) and may call
/// a destructor, with what they touch themselves.
#[rustfmt::skip]
pub fn synchronising(name: &str) -> Option<&'static [Effect]> {
    Some(match name {
        "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE" =>
            &[(W, 0, N(POINTER)), (W, 1, N(POINTER))],
        "_ZNSt6thread4joinEv" | "_ZNSt6thread6detachEv" => &[(W, 0, N(POINTER))],
        "_ZNSt6thread6_StateD2Ev" | "_ZNSt6thread6_StateD1Ev" | "_ZNSt6thread6_StateD0Ev" => &[(W, 0, N(POINTER))],
        // A condition variable is the runtime's, which is asked to wait by the C library's names.
        "_ZNSt18condition_variableC1Ev" | "_ZNSt18condition_variableC2Ev" | "_ZNSt18condition_variableD1Ev"
        | "_ZNSt18condition_variableD2Ev" | "_ZNSt18condition_variable10notify_allEv"
        | "_ZNSt18condition_variable10notify_oneEv" => &[(W, 0, N(CONDITION))],
        "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE" => &[(W, 0, N(CONDITION)), (R, 1, N(16))],
        "_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE"
        | "_ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE"
        => &[(W, 1, N(4))],
        "_ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj" => &[(W, 0, N(4))],
        "_ZSt17current_exceptionv" | "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv"
        | "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv" | "_ZNSt15__exception_ptr13exception_ptrC1EPv"
        | "_ZNSt15__exception_ptr13exception_ptrC2EPv" => &[(W, 0, N(POINTER))],
        // The runtime's (`runtime/c/shared_ptr.c`), which make valid what they touch.
        "_ZNSt10_Sp_lockerC1EPKv" | "_ZNSt10_Sp_lockerC2EPKv" | "_ZNSt10_Sp_lockerC1EPKvS1_" | "_ZNSt10_Sp_lockerC2EPKvS1_"
        | "_ZNSt10_Sp_lockerD1Ev" | "_ZNSt10_Sp_lockerD2Ev" => &[],
        "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE" => &[(R, 0, N(POINTER))],
        "_ZNSt13__future_base12_Result_baseD2Ev" | "_ZNSt16nested_exceptionD2Ev" | "_ZNSt16nested_exceptionD1Ev" | "_ZNSt16nested_exceptionD0Ev" => &[(W, 0, N(16))],
        _ => return None,
    })
}

#[rustfmt::skip]
fn table(name: &str) -> Option<&'static [Effect]> {
    Some(match name {
        // what streams are made of
        "_ZNSt8ios_baseC2Ev" | "_ZNSt8ios_baseD2Ev" | "_ZNSt8ios_base7_M_initEv" => &[(W, 0, N(IOS_BASE))],
        "_ZNSt8ios_base7_M_moveERS_" | "_ZNSt8ios_base7_M_swapERS_" => &[(W, 0, N(IOS_BASE)), (W, 1, N(IOS_BASE))],
        // Without callbacks: who registers one is warned of that call.
        "_ZNSt8ios_base17_M_call_callbacksENS_5eventE" | "_ZNSt8ios_base20_M_dispose_callbacksEv" => &[(W, 0, N(IOS_BASE))],
        "_ZNSt8ios_base5imbueERKSt6locale" => &[(W, 0, N(POINTER)), (W, 1, N(IOS_BASE)), (R, 2, N(POINTER))],
        "_ZNSt8ios_base4InitC1Ev" | "_ZNSt8ios_base4InitD1Ev" => &[(W, 0, N(1))],
        "_ZNSt6localeC1Ev" | "_ZNSt6localeC2Ev" | "_ZNSt6localeD1Ev" | "_ZNSt6localeD2Ev" => &[(W, 0, N(POINTER))],
        "_ZNSt6localeC1ERKS_" | "_ZNSt6localeC2ERKS_" | "_ZNSt6localeaSERKS_" | "_ZNSt6locale6globalERKS_" =>
            &[(R, 1, N(POINTER)), (W, 0, N(POINTER))],
        "_ZNSt6localeC1EPKc" | "_ZNSt6localeC2EPKc" => &[(R, 1, S), (W, 0, N(POINTER))],
        "_ZNSt6localeC1EPNS_5_ImplE" | "_ZNSt6localeC2EPNS_5_ImplE" => &[(W, 0, N(POINTER))],
        // The implementations lie in private memory, what is allocated for facets, too.
        "_ZNSt6locale5_Impl16_M_install_facetEPKNS_2idEPKNS_5facetE" => &[(W, 1, N(POINTER)), (W, 2, N(COUNTED))],
        "_ZNSt6locale5_Impl16_M_install_cacheEPKNS_5facetEm" => &[(W, 1, N(COUNTED))],
        "_ZNSt6locale5facetD2Ev" | "_ZNSt6locale5facetD1Ev" => &[(W, 0, N(COUNTED))],
        "_ZNSt6locale5facet19_S_destroy_c_localeERP15__locale_struct" => &[(W, 0, N(POINTER))],
        "_ZNSt6locale5facet18_S_create_c_localeERP15__locale_structPKcS2_" => &[(W, 0, N(POINTER)), (R, 1, S)],
        "_ZNSt10__num_base15_S_format_floatERKSt8ios_basePcc" => &[(R, 0, N(IOS_BASE)), (W, 1, N(FORMAT))],
        "_ZNSt16__time_get_state17_M_finalize_stateEP2tm" => &[(W, 0, N(12)), (W, 1, N(TIME))],
        "_ZNKSt6localeeqERKS_" => &[(R, 0, N(POINTER)), (R, 1, N(POINTER))],
        "_ZNKSt6locale2id5_M_idEv" => &[(W, 0, N(POINTER))],
        "_ZNSt12__basic_fileIcE4openEPKcSt13_Ios_Openmodei" => &[(W, 0, N(FILE)), (R, 1, S)],
        "_ZNSt12__basic_fileIcE6xsgetnEPcl" => &[(W, 0, N(FILE)), (W, 1, A(2))],
        "_ZNSt12__basic_fileIcE6xsputnEPKcl" => &[(W, 0, N(FILE)), (R, 1, A(2))],
        "_ZNSt12__basic_fileIcE8xsputn_2EPKclS2_l" => &[(W, 0, N(FILE)), (R, 1, A(2)), (R, 3, A(4))],
        // containers
        "_ZSt11_Hash_bytesPKvmm" | "_ZSt15_Fnv_hash_bytesPKvmm" => &[(R, 0, A(1))],
        "_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm"
        | "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm" => &[(W, 0, N(16))],
        // A base class without members.
        "_ZNSt3pmr15memory_resourceD2Ev" | "_ZNSt3pmr15memory_resourceD1Ev" => &[],
        // exceptions and types
        "__cxa_atexit" | "__cxa_thread_atexit" | "__cxa_allocate_exception" | "__cxa_free_exception"
        | "__cxa_begin_catch" | "__cxa_call_unexpected" | "__cxa_get_exception_ptr" | "__cxa_pure_virtual" | "__cxa_bad_cast"
        | "__cxa_bad_typeid" | "__cxa_throw_bad_array_new_length" => &[],
        "__cxa_init_primary_exception" => &[(W, 0, N(POINTER))],
        "_ZNSt13__future_base12_Result_baseC2Ev" => &[(W, 0, N(16))],
        "_ZNKSt8ios_base7failureB5cxx114whatEv" => &[(R, 0, N(16))],
        "_ZNSt11regex_errorC1ENSt15regex_constants10error_typeE" | "_ZNSt11regex_errorC2ENSt15regex_constants10error_typeE" =>
            &[(W, 0, N(REGEX_ERROR))],
        "_ZSt9terminatev" | "_ZSt18uncaught_exceptionv" | "_ZSt19uncaught_exceptionsv" | "_ZSt15get_new_handlerv" => &[],
        "_ZNSt6chrono3_V212system_clock3nowEv" | "_ZNSt6chrono3_V212steady_clock3nowEv" => &[],
        // The token is in the string itself unless it is longer than any that the library knows.
        "_ZNSt13random_device7_M_initERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE" => &[(W, 0, N(RANDOM_DEVICE)), (R, 1, N(STRING))],
        "_ZNSt13random_device9_M_getvalEv" | "_ZNSt13random_device16_M_getval_pretr1Ev" => &[(W, 0, N(RANDOM_DEVICE))],
        "_ZNSt13random_device7_M_finiEv" => &[(W, 0, N(RANDOM_DEVICE))],
        "_ZNKSt13random_device13_M_getentropyEv" => &[(R, 0, N(RANDOM_DEVICE))],
        _ => return None,
    })
}

/// `std::from_chars` and `std::to_chars` of floating-point numbers.
fn conversion(name: &str) -> Option<&'static [Effect]> {
    if let Some(rest) = name.strip_prefix("_ZSt10from_charsPKcS0_R") {
        return Some(match rest.as_bytes().first()? {
            b'f' => &[(R, 0, End(1)), (W, 2, N(4))],
            b'd' => &[(R, 0, End(1)), (W, 2, N(8))],
            _ => &[(R, 0, End(1)), (W, 2, N(16))],
        });
    }
    name.starts_with("_ZSt8to_charsPcS_").then_some(&[(W, 0, End(1))])
}

/// Constructors, destructors and members of facets that are compiled in the library and work on the object itself.
fn facet(name: &str) -> Option<&'static [Effect]> {
    const NAMES: [&str; 9] = [
        "5ctypeI",
        "12ctype_bynameI",
        "7codecvtI",
        "14codecvt_bynameI",
        "8numpunctI",
        "10moneypunctI",
        "11__timepunctI",
        "8messagesI",
        "7collateI",
    ];
    let name = name.strip_prefix("_ZNKSt").or(name.strip_prefix("_ZNSt"))?;
    let name = name.strip_prefix("7__cxx11").unwrap_or(name);
    let member = NAMES.iter().find_map(|facet| name.strip_prefix(facet))?;
    let tail = |end: &str| member.ends_with(end);
    Some(if member.contains("do_") && !member.contains("do_open") && !member.contains("do_get") {
        // The runtime's, in front of the library's (`runtime/c/libstdcxx_facets.c`), or without memory of the program's.
        &[]
    } else if member.contains("10_M_compareEPKc") {
        &[(R, 1, S), (R, 2, S)]
    } else if member.contains("12_M_transformEPc") {
        &[(W, 1, A(3)), (R, 2, S)]
    } else if member.contains("6_M_putEPc") {
        &[(R, 0, N(TIMEPUNCT)), (W, 1, A(2)), (R, 3, S), (R, 4, N(TIME))]
    } else if member.contains("24_M_initialize_moneypunct")
        || member.contains("22_M_initialize_numpunct")
        || member.contains("23_M_initialize_timepunct")
        || member.contains("19_M_initialize_ctype")
        || member.contains("13_M_widen_init")
        || member.contains("14_M_narrow_init")
        || ["D0Ev", "D1Ev", "D2Ev", "C1Em", "C2Em", "C1EPKtbm", "C2EPKtbm"].iter().any(|end| tail(end))
        || member.contains("EC1EP15__locale_struct")
        || member.contains("EC2EP15__locale_struct")
    {
        // The smallest facets of the library may be the last objects of their memory.
        if name.contains("5ctypeIc") || name.starts_with("12ctype_bynameIc") {
            &[(W, 0, N(NARROW_CTYPE))]
        } else if name.starts_with("5ctypeIw") || name.starts_with("12ctype_bynameIw") {
            &[(W, 0, N(WIDE_CTYPE))]
        } else if name.starts_with("11__timepunct") || name.starts_with("8messages") {
            &[(W, 0, N(TIMEPUNCT))]
        } else {
            &[(W, 0, N(FACET))]
        }
    } else {
        return None;
    })
}

/// Families of functions with one shape of name.
fn by_shape(name: &str) -> Option<&'static [Effect]> {
    if let Some(effects) = facet(name) {
        return Some(effects);
    }
    // The runtime's, in front of the library's (`runtime/c/libstdcxx_filesystem.c`).
    if name.starts_with("_ZNSt10filesystem") || name.starts_with("_ZNKSt10filesystem") {
        return Some(&[]);
    }
    // The pointer that an iterator of a directory is.
    if let Some(member) = name.strip_prefix("_ZNSt12__shared_ptrINSt10filesystem") {
        let copies = ["C1E", "C2E", "aSE", "4swapE"].iter().any(|copy| member.contains(copy))
            && !member.ends_with("Ev");
        return Some(if copies { &[(W, 0, N(16)), (W, 1, N(16))] } else { &[(W, 0, N(16))] });
    }
    if let Some(effects) = conversion(name) {
        return Some(effects);
    }
    let file = name.starts_with("_ZNSt12__basic_fileIcE") || name.starts_with("_ZNKSt12__basic_fileIcE");
    if file {
        return Some(&[(W, 0, N(FILE))]);
    }
    // Constructors of exceptions from a text.
    if (name.starts_with("_ZNSt") || name.starts_with("_ZNKSt"))
        && name.contains("_error") | name.contains("invalid_argument") | name.contains("out_of_range")
    {
        let text = name.ends_with("C1EPKc") || name.ends_with("C2EPKc");
        if ["C1ERKS_", "C2ERKS_", "aSERKS_"].iter().any(|copy| name.ends_with(copy)) {
            return Some(&[(R, 1, N(16)), (W, 0, N(16))]);
        }
        if ["C1EOS_", "C2EOS_", "aSEOS_"].iter().any(|moved| name.ends_with(moved)) {
            return Some(&[(W, 1, N(16)), (W, 0, N(16))]);
        }
        let end = ["D0Ev", "D1Ev", "D2Ev"].iter().any(|d| name.ends_with(d));
        if name.ends_with("4whatEv") {
            return Some(&[(R, 0, N(16))]);
        }
        return if text { Some(&[(R, 1, S), (W, 0, N(16))]) } else { end.then_some(&[(W, 0, N(16))]) };
    }
    if let Some(member) = name.strip_prefix("_ZNSt8ios_base7failureB5cxx11") {
        // The runtime's constructors from a string are in front of the library's, and make its characters valid.
        return if member.starts_with("C1EPKc") || member.starts_with("C2EPKc") {
            Some(&[(R, 1, S), (R, 2, N(ERROR_CODE)), (W, 0, N(SYSTEM_ERROR))])
        } else if member.ends_with("RKSt10error_code") {
            Some(&[(R, 1, N(STRING)), (R, 2, N(ERROR_CODE)), (W, 0, N(SYSTEM_ERROR))])
        } else if member.starts_with("C1E") || member.starts_with("C2E") {
            Some(&[(R, 1, N(STRING)), (W, 0, N(SYSTEM_ERROR))])
        } else {
            member.starts_with('D').then_some(&[(W, 0, N(16))])
        };
    }
    // The other exceptions have a table of virtual functions alone, and a text that is a constant.
    let member = name.strip_prefix("_ZNSt").or(name.strip_prefix("_ZNKSt")).unwrap_or("");
    if member.contains("exception") || member.contains("bad_") {
        let ends = ["C1Ev", "C2Ev", "D0Ev", "D1Ev", "D2Ev"].iter().any(|end| member.ends_with(end));
        return if member.ends_with("4whatEv") {
            Some(&[(R, 0, N(16))])
        } else {
            ends.then_some(&[(W, 0, N(8))])
        };
    }
    // Their texts are constants of the library's templates.
    let throws = name.starts_with("_ZSt") && name.contains("__throw_");
    throws.then_some(&[])
}

/// True of a mangled name with a template argument that is a class of the program: what is made for it is compiled with the program, as a
/// specialisation of `std::hash` that counts.
fn names_type_of_program(mangled: &str) -> bool {
    mangled.match_indices('I').any(|(at, _)| {
        let argument = mangled[at + 1..].trim_start_matches(['P', 'K', 'R']);
        let argument = argument.strip_prefix('N').unwrap_or(argument).trim_start_matches('K');
        argument.starts_with(|c: char| c.is_ascii_digit()) && !argument.starts_with("9__gnu_cxx")
    })
}

/// True of globals that belong to the library although the program's objects define them: each process has its own, as it has
/// of those in the library itself, which uses them without checks.
pub fn is_own_global(name: &str) -> bool {
    let inner = name.strip_prefix("_ZGV").or(name.strip_prefix("_Z")).unwrap_or("");
    let inner = inner.strip_prefix('Z').unwrap_or(inner);
    if names_type_of_program(inner) {
        return false;
    }
    ["St", "NSt", "NKSt", "N9__gnu_cxx", "NK9__gnu_cxx", "TV", "TI", "TS"]
        .iter()
        .any(|p| inner.starts_with(p))
}

//! What the compiled part of libstdc++ reads and writes, by mangled name.
//!
//! Little is left of it: the driver's headers (`runtime/cxx`) have the templates instantiated in the program and the rest of the
//! containers inlined. Sizes are those of the x86-64 and AArch64 ABI, which are frozen.

use super::libc::{
    Effect, R,
    Rule::{A, End, N, S},
    W,
};

/// Bytes of a `std::ios_base`.
const IOS_BASE: u64 = 216;
/// Bytes of a `std::locale`, of an exception pointer: one pointer.
const POINTER: u64 = 8;
/// Bytes of a `std::condition_variable`.
const CONDITION: u64 = 48;
/// Bytes of the file in a file buffer.
const FILE: u64 = 16;
/// A `std::string` itself.
const STRING: u64 = 32;
/// A `std::random_device`.
const RANDOM_DEVICE: u64 = 5000;

/// What a function touches; `None` if it is not known.
pub fn effects(name: &str) -> Option<&'static [Effect]> {
    if !name.starts_with("_Z") && !name.starts_with("__cxa_") {
        return None;
    }
    table(name).or_else(|| by_shape(name))
}

/// Functions that start threads, wait for them or wake them, with what they touch themselves.
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
        _ => return None,
    })
}

#[rustfmt::skip]
fn table(name: &str) -> Option<&'static [Effect]> {
    Some(match name {
        // what streams are made of
        "_ZNSt8ios_baseC2Ev" | "_ZNSt8ios_baseD2Ev" | "_ZNSt8ios_base7_M_initEv" => &[(W, 0, N(IOS_BASE))],
        "_ZNSt8ios_base5imbueERKSt6locale" => &[(W, 0, N(POINTER)), (W, 1, N(IOS_BASE)), (R, 2, N(POINTER))],
        "_ZNSt8ios_base4InitC1Ev" | "_ZNSt8ios_base4InitD1Ev" => &[(W, 0, N(1))],
        "_ZNSt6localeC1Ev" | "_ZNSt6localeC2Ev" | "_ZNSt6localeD1Ev" | "_ZNSt6localeD2Ev" => &[(W, 0, N(POINTER))],
        "_ZNSt6localeC1ERKS_" | "_ZNSt6localeC2ERKS_" | "_ZNSt6localeaSERKS_" | "_ZNSt6locale6globalERKS_" =>
            &[(R, 1, N(POINTER)), (W, 0, N(POINTER))],
        "_ZNSt6localeC1EPKc" | "_ZNSt6localeC2EPKc" => &[(R, 1, S), (W, 0, N(POINTER))],
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
        "_ZSt17current_exceptionv" | "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv"
        | "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv" => &[(W, 0, N(POINTER))],
        "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE" => &[(R, 0, N(POINTER))],
        "__cxa_atexit" | "__cxa_thread_atexit" | "__cxa_allocate_exception" | "__cxa_free_exception"
        | "__cxa_begin_catch" | "__cxa_get_exception_ptr" | "__cxa_pure_virtual" | "__cxa_bad_cast"
        | "__cxa_bad_typeid" | "__cxa_throw_bad_array_new_length" => &[],
        "__cxa_init_primary_exception" | "_ZNSt15__exception_ptr13exception_ptrC1EPv" | "_ZNSt15__exception_ptr13exception_ptrC2EPv" =>
            &[(W, 0, N(POINTER))],
        "_ZNSt13__future_base12_Result_baseC2Ev" | "_ZNSt13__future_base12_Result_baseD2Ev" => &[(W, 0, N(16))],
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

/// Families of functions with one shape of name.
fn by_shape(name: &str) -> Option<&'static [Effect]> {
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
        let end = ["D0Ev", "D1Ev", "D2Ev"].iter().any(|d| name.ends_with(d));
        if name.ends_with("4whatEv") {
            return Some(&[(R, 0, N(16))]);
        }
        return if text { Some(&[(R, 1, S), (W, 0, N(16))]) } else { end.then_some(&[(W, 0, N(16))]) };
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
    // The classic character classes are objects of the library.
    let class = name.starts_with("_ZNKSt5ctypeIcE");
    (throws || class).then_some(&[])
}

/// True of globals that belong to the library although the program's objects define them: each process has its own, as it has
/// of those in the library itself, which uses them without checks.
pub fn is_own_global(name: &str) -> bool {
    let inner = name.strip_prefix("_ZGV").or(name.strip_prefix("_Z")).unwrap_or("");
    let inner = inner.strip_prefix('Z').unwrap_or(inner);
    ["St", "NSt", "NKSt", "N9__gnu_cxx", "NK9__gnu_cxx", "TV", "TI", "TS"]
        .iter()
        .any(|p| inner.starts_with(p))
}

//! What flang's runtime library reads and writes through its pointer arguments.
//!
//! Arrays reach it as descriptors: D stands for a descriptor and all elements it names (allocatable components
//! included), O for a descriptor and elements that the function defines, whose components may hold anything before, H for a descriptor without its elements, which may not have been filled in yet. Source file names, formats and type
//! descriptions are constants. Results that the library allocates come from the shared heap and are fresh.
//!
//! Functions marked `calls` may run procedures of the program (defined assignment and input/output, finalisers, the
//! operation of REDUCE): these may synchronise. They get the descriptor, not memory that holds its address.

use crate::llvm::{Module, Type, TypeKind};

use super::facts::Kind;
use super::libc::{Effect, Function, Rule};

use Rule::{A, D, N, O, S};

const R: Kind = Kind::Load;
const W: Kind = Kind::Store;

/// Most bytes of a descriptor: 15 dimensions and an addendum.
const H: Rule = N(24 + 15 * 24 + 16);

/// Start of the names of the library's entries.
const PREFIX: &str = "_FortranA";

/// True of modules that flang made: it gives all of them the same name.
pub fn is_fortran(module: Module) -> bool {
    module.name() == "FIRModule"
}

/// True of flang's type for array descriptors: {address, element bytes, version, rank, type, attribute, extra, dimensions...}.
pub fn is_descriptor(ty: Type) -> bool {
    if ty.kind() != TypeKind::LLVMStructTypeKind {
        return false;
    }
    let fields = ty.fields();
    let is_integer = |field: Type| field.kind() == TypeKind::LLVMIntegerTypeKind;
    let widths: Vec<u32> =
        fields.iter().skip(1).take(6).filter(|f| is_integer(**f)).map(|f| f.int_width()).collect();
    fields.len() >= 8
        && fields[0].is_plain_pointer()
        && widths == [64, 32, 8, 8, 8, 8]
        && fields[7].kind() == TypeKind::LLVMArrayTypeKind
}

struct Entry {
    /// Name without prefix; a `*` at the end stands for any rest, such as the kinds of the arguments.
    pattern: &'static str,
    effects: &'static [Effect],
    calls: bool,
    /// Argument whose address ends up in memory.
    keeps: Option<u32>,
}

const fn entry(pattern: &'static str, effects: &'static [Effect]) -> Entry {
    Entry { pattern, effects, calls: false, keeps: None }
}

const fn calls(pattern: &'static str, effects: &'static [Effect]) -> Entry {
    Entry { pattern, effects, calls: true, keeps: None }
}

/// The first match counts.
#[rustfmt::skip]
const TABLE: &[Entry] = &[
    // input and output: statements
    entry("ioBeginExternalFormatted*", &[(R, 0, A(1)), (R, 2, D)]),
    entry("ioBeginInternalListOutput", &[(W, 0, A(1))]),
    entry("ioBeginInternalListInput", &[(R, 0, A(1))]),
    entry("ioBeginInternalFormattedOutput", &[(R, 2, A(3)), (R, 4, D), (W, 0, A(1))]),
    entry("ioBeginInternalFormattedInput", &[(R, 2, A(3)), (R, 4, D), (R, 0, A(1))]),
    entry("ioBeginInternalArrayListOutput", &[(W, 0, D)]),
    entry("ioBeginInternalArrayListInput", &[(R, 0, D)]),
    entry("ioBeginInternalArrayFormattedOutput", &[(R, 1, A(2)), (R, 3, D), (W, 0, D)]),
    entry("ioBeginInternalArrayFormattedInput", &[(R, 1, A(2)), (R, 3, D), (R, 0, D)]),
    entry("ioBeginInquireFile", &[(R, 0, A(1))]),
    entry("ioBegin*", &[]),
    entry("ioEndIoStatement", &[]),
    entry("ioEnableHandlers", &[]),
    entry("ioCheckUnitNumberInRange*", &[(W, 2, A(3))]),
    // input and output: items
    entry("ioOutputDescriptor", &[(R, 1, D)]),
    entry("ioInputDescriptor", &[(W, 1, D)]),
    entry("ioOutputAscii", &[(R, 1, A(2))]),
    entry("ioInputAscii", &[(W, 1, A(2))]),
    entry("ioOutputCharacter", &[(R, 1, Rule::P(2, 3))]),
    entry("ioInputCharacter", &[(W, 1, Rule::P(2, 3))]),
    calls("ioOutputDerivedType", &[(R, 1, D)]),
    calls("ioInputDerivedType", &[(W, 1, D)]),
    calls("ioOutputNamelist", &[(R, 1, Rule::Namelist)]),
    calls("ioInputNamelist", &[(W, 1, Rule::Namelist)]),
    entry("ioOutput*", &[]),
    entry("ioInputInteger", &[(W, 1, A(2))]),
    entry("ioInputReal32", &[(W, 1, N(4))]),
    entry("ioInputReal64", &[(W, 1, N(8))]),
    entry("ioInputComplex32", &[(W, 1, N(8))]),
    entry("ioInputComplex64", &[(W, 1, N(16))]),
    entry("ioInputLogical", &[(W, 1, N(1))]),
    entry("ioGetNewUnit", &[(W, 1, A(2))]),
    entry("ioGetIoMsg", &[(W, 1, A(2))]),
    entry("ioGet*", &[]),
    entry("ioInquireCharacter", &[(W, 2, A(3))]),
    entry("ioInquireInteger64", &[(W, 2, A(3))]),
    entry("ioInquireLogical", &[(W, 2, N(1))]),
    entry("ioInquirePendingId", &[(W, 2, N(1))]),
    entry("ioSetPos", &[]),
    entry("ioSetRec*", &[]),
    entry("ioSet*", &[(R, 1, A(2))]),
    // allocatables and pointers
    calls("AllocatableAllocateSource", &[(R, 1, D), (W, 0, H), (W, 3, D)]),
    entry("AllocatableAllocate", &[(W, 0, H), (W, 3, D)]),
    calls("AllocatableDeallocateNoFinal", &[(W, 0, D)]),
    calls("AllocatableDeallocatePolymorphic", &[(W, 0, D), (W, 3, D)]),
    calls("AllocatableDeallocate", &[(W, 0, D), (W, 2, D)]),
    entry("AllocatableApplyMold", &[(R, 1, H), (W, 0, H)]),
    entry("Allocatable*", &[(W, 0, H)]),
    calls("MoveAlloc", &[(W, 0, D), (W, 1, H), (W, 4, D)]),
    calls("PointerAllocateSource", &[(R, 1, D), (W, 0, H), (W, 3, D)]),
    entry("PointerAllocate", &[(W, 0, H), (W, 2, D)]),
    Entry { pattern: "PointerAssociateScalar", effects: &[(W, 0, H)], calls: false, keeps: Some(1) },
    entry("PointerAssociateRemapping*", &[(R, 1, H), (R, 2, D), (W, 0, H)]),
    entry("PointerAssociateLowerBounds", &[(R, 1, H), (R, 2, D), (W, 0, H)]),
    entry("PointerAssociate", &[(R, 1, H), (W, 0, H)]),
    calls("PointerDeallocatePolymorphic", &[(W, 0, D), (W, 3, D)]),
    calls("PointerDeallocate", &[(W, 0, D), (W, 2, D)]),
    entry("PointerIsAssociatedWith", &[(R, 0, H), (R, 1, H)]),
    entry("PointerIsAssociated", &[(R, 0, H)]),
    entry("PointerApplyMold", &[(R, 1, H), (W, 0, H)]),
    entry("Pointer*", &[(W, 0, H)]),
    // assignment and objects of derived types
    calls("AssignTemporary", &[(R, 1, D), (W, 0, O)]),
    calls("Assign*", &[(R, 1, D), (W, 0, D)]),
    entry("CopyInAssign", &[(R, 1, D), (W, 0, H)]),
    entry("CopyOutAssign", &[(R, 1, D), (W, 0, D), (W, 1, H)]),
    entry("CopyAndUpdateDescriptor", &[(R, 1, H), (W, 0, H)]),
    calls("InitializeClone", &[(R, 1, D), (W, 0, O)]),
    calls("Initialize", &[(W, 0, O)]),
    calls("Destroy", &[(W, 0, D)]),
    calls("DestroyWithoutFinalization", &[(W, 0, D)]),
    calls("Finalize", &[(W, 0, D)]),
    entry("ClassIs", &[(R, 0, H)]),
    entry("SameTypeAs", &[(R, 0, H), (R, 1, H)]),
    entry("ExtendsTypeOf", &[(R, 0, H), (R, 1, H)]),
    entry("InitArrayConstructorVector", &[(W, 1, H)]),
    entry("PushArrayConstructorValue", &[(R, 1, D), (W, 0, Rule::Constructor(u64::MAX))]),
    entry("PushArrayConstructorSimpleScalar", &[(R, 1, N(32)), (W, 0, Rule::Constructor(1))]),
    entry("PushValue", &[(R, 1, D)]),
    entry("ValueAt", &[(W, 2, H)]),
    entry("PopValue", &[(W, 1, H)]),
    entry("PushDescriptor", &[(R, 1, H)]),
    entry("DescriptorAt", &[(W, 2, H)]),
    entry("PopDescriptor", &[(W, 1, H)]),
    entry("CreateValueStack", &[]),
    entry("CreateDescriptorStack", &[]),
    entry("DestroyValueStack", &[]),
    entry("DestroyDescriptorStack", &[]),
    // inquiries
    entry("IsContiguous*", &[(R, 0, H)]),
    entry("IsAssumedSize", &[(R, 0, H)]),
    entry("SizeDim", &[(R, 0, H)]),
    entry("Size", &[(R, 0, H)]),
    entry("LboundDim", &[(R, 0, H)]),
    entry("Lbound", &[(R, 1, H), (W, 0, N(15 * 8))]),
    entry("Ubound", &[(R, 1, H), (W, 0, N(15 * 8))]),
    entry("Shape", &[(R, 1, H), (W, 0, N(15 * 8))]),
    // transformations
    entry("ShallowCopyDirect", &[(R, 1, D), (W, 0, O)]),
    entry("ShallowCopy", &[(R, 1, D), (W, 0, H)]),
    entry("MatmulDirect*", &[(R, 1, D), (R, 2, D), (W, 0, D)]),
    entry("MatmulTransposeDirect*", &[(R, 1, D), (R, 2, D), (W, 0, D)]),
    entry("Matmul*", &[(R, 1, D), (R, 2, D), (W, 0, H)]),
    entry("CshiftVector", &[(R, 1, D), (W, 0, H)]),
    entry("Cshift", &[(R, 1, D), (R, 2, D), (W, 0, H)]),
    entry("EoshiftVector", &[(R, 1, D), (R, 3, D), (W, 0, H)]),
    entry("Eoshift", &[(R, 1, D), (R, 2, D), (R, 3, D), (W, 0, H)]),
    entry("Pack", &[(R, 1, D), (R, 2, D), (R, 3, D), (W, 0, H)]),
    entry("Unpack", &[(R, 1, D), (R, 2, D), (R, 3, D), (W, 0, H)]),
    entry("Reshape", &[(R, 1, D), (R, 2, D), (R, 3, D), (R, 4, D), (W, 0, H)]),
    entry("Spread", &[(R, 1, D), (W, 0, H)]),
    entry("Transpose", &[(R, 1, D), (W, 0, H)]),
    entry("TransferSize", &[(R, 1, D), (R, 2, D), (W, 0, H)]),
    entry("Transfer", &[(R, 1, D), (R, 2, D), (W, 0, H)]),
    // reductions and searches
    entry("CppDotProduct*", &[(R, 1, D), (R, 2, D), (W, 0, N(32))]),
    entry("DotProduct*", &[(R, 0, D), (R, 1, D)]),
    entry("FindlocDim", &[(R, 1, D), (R, 2, D), (R, 7, D), (W, 0, H)]),
    entry("Findloc", &[(R, 1, D), (R, 2, D), (R, 6, D), (W, 0, H)]),
    entry("MaxlocDim", &[(R, 1, D), (R, 6, D), (W, 0, H)]),
    entry("MinlocDim", &[(R, 1, D), (R, 6, D), (W, 0, H)]),
    entry("Maxloc*", &[(R, 1, D), (R, 5, D), (W, 0, H)]),
    entry("Minloc*", &[(R, 1, D), (R, 5, D), (W, 0, H)]),
    entry("MaxvalDim", &[(R, 1, D), (R, 5, D), (W, 0, H)]),
    entry("MinvalDim", &[(R, 1, D), (R, 5, D), (W, 0, H)]),
    entry("MaxvalCharacter", &[(R, 1, D), (R, 4, D), (W, 0, H)]),
    entry("MinvalCharacter", &[(R, 1, D), (R, 4, D), (W, 0, H)]),
    entry("Maxval*", &[(R, 0, D), (R, 4, D)]),
    entry("Minval*", &[(R, 0, D), (R, 4, D)]),
    entry("SumDim", &[(R, 1, D), (R, 5, D), (W, 0, H)]),
    entry("ProductDim", &[(R, 1, D), (R, 5, D), (W, 0, H)]),
    entry("Sum*", &[(R, 0, D), (R, 4, D)]),
    entry("Product*", &[(R, 0, D), (R, 4, D)]),
    entry("CppSum*", &[(R, 1, D), (R, 5, D), (W, 0, N(32))]),
    entry("CppProduct*", &[(R, 1, D), (R, 5, D), (W, 0, N(32))]),
    entry("IAllDim", &[(R, 1, D), (R, 5, D), (W, 0, H)]),
    entry("IAnyDim", &[(R, 1, D), (R, 5, D), (W, 0, H)]),
    entry("IParityDim", &[(R, 1, D), (R, 5, D), (W, 0, H)]),
    entry("IAll*", &[(R, 0, D), (R, 4, D)]),
    entry("IAny*", &[(R, 0, D), (R, 4, D)]),
    entry("IParity*", &[(R, 0, D), (R, 4, D)]),
    entry("AllDim", &[(R, 1, D), (W, 0, H)]),
    entry("AnyDim", &[(R, 1, D), (W, 0, H)]),
    entry("CountDim", &[(R, 1, D), (W, 0, H)]),
    entry("ParityDim", &[(R, 1, D), (W, 0, H)]),
    entry("Norm2Dim", &[(R, 1, D), (W, 0, H)]),
    entry("All", &[(R, 0, D)]),
    entry("Any", &[(R, 0, D)]),
    entry("Count", &[(R, 0, D)]),
    entry("Parity", &[(R, 0, D)]),
    entry("Norm2_*", &[(R, 0, D)]),
    // characters
    entry("CharacterCompareScalar1", &[(R, 0, A(2)), (R, 1, A(3))]),
    entry("CharacterCompare", &[(R, 1, D), (R, 2, D), (W, 0, H)]),
    entry("CharacterConcatenate", &[(R, 0, D), (R, 1, D), (W, 0, H)]),
    entry("CharacterConcatenateScalar1", &[(R, 0, D), (R, 1, A(2)), (W, 0, H)]),
    entry("CharacterAppend1", &[(R, 3, A(4)), (W, 0, A(1))]),
    entry("CharacterPad1", &[(W, 0, A(1))]),
    entry("CharacterMax", &[(R, 0, D), (R, 1, D), (W, 0, D)]),
    entry("CharacterMin", &[(R, 0, D), (R, 1, D), (W, 0, D)]),
    entry("Adjust*", &[(R, 1, D), (W, 0, H)]),
    entry("Repeat", &[(R, 1, D), (W, 0, H)]),
    entry("Trim", &[(R, 1, D), (W, 0, H)]),
    entry("LenTrim1", &[(R, 0, A(1))]),
    entry("Index1", &[(R, 0, A(1)), (R, 2, A(3))]),
    entry("Scan1", &[(R, 0, A(1)), (R, 2, A(3))]),
    entry("Verify1", &[(R, 0, A(1)), (R, 2, A(3))]),
    entry("LenTrim", &[(R, 1, D), (W, 0, H)]),
    entry("Index", &[(R, 1, D), (R, 2, D), (R, 3, D), (W, 0, H)]),
    entry("Scan", &[(R, 1, D), (R, 2, D), (R, 3, D), (W, 0, H)]),
    entry("Verify", &[(R, 1, D), (R, 2, D), (R, 3, D), (W, 0, H)]),
    // the environment
    entry("DateAndTime", &[(W, 0, A(1)), (W, 2, A(3)), (W, 4, A(5)), (W, 8, D)]),
    entry("RandomNumber", &[(W, 0, D)]),
    entry("RandomSeedSize", &[(W, 0, D)]),
    entry("RandomSeedPut", &[(R, 0, D)]),
    entry("RandomSeedGet", &[(W, 0, D)]),
    entry("RandomSeed", &[(W, 0, D), (R, 1, D), (W, 2, D)]),
    entry("GetCommandArgument", &[(W, 1, D), (W, 2, D), (W, 3, D)]),
    entry("GetCommand", &[(W, 0, D), (W, 1, D), (W, 2, D)]),
    entry("GetEnvVariable", &[(R, 0, D), (W, 1, D), (W, 2, D), (W, 4, D)]),
    entry("ExecuteCommandLine", &[(R, 0, D), (W, 2, D), (W, 3, D), (W, 4, D)]),
    entry("GetCwd", &[(W, 0, D)]),
    entry("Hostnm", &[(W, 0, D)]),
    entry("Etime", &[(W, 0, D), (W, 1, D)]),
    entry("Rename", &[(R, 0, D), (R, 1, D), (W, 2, D)]),
    entry("Chdir", &[(R, 0, S)]),
    entry("Unlink", &[(R, 0, A(1))]),
    entry("Irand", &[(R, 0, N(4))]),
    entry("Rand", &[(R, 0, N(4))]),
    entry("Perror", &[(R, 0, S)]),
    entry("PutEnv", &[(R, 0, A(1))]),
    entry("Secnds", &[(R, 0, N(4))]),
    entry("Dsecnds", &[(R, 0, N(8))]),
    entry("StopStatementText", &[(R, 0, A(1))]),
    entry("PauseStatementText", &[(R, 0, A(1))]),
];

/// Entries without pointer arguments of the program's, which neither touch its memory nor synchronise.
const PLAIN: &[&str] = &[
    "Abort",
    "ArgumentCount",
    "BesselJn_",
    "BesselYn_",
    "Ceiling",
    "CpuTime",
    "ErfcScaled",
    "Exit",
    "Exponent",
    "FPow",
    "FailImageStatement",
    "Floor",
    "Flush",
    "Fraction",
    "Fseek",
    "Ftell",
    "GetGID",
    "GetPID",
    "GetUID",
    "GetUnderflowMode",
    "IsFinite",
    "IsNaN",
    "MapException",
    "Mod",
    "Nearest",
    "Nint",
    "PauseStatement",
    "ProgramEndStatement",
    "RRSpacing",
    "RandomInit",
    "RandomSeedDefaultPut",
    "ReportFatalUserError",
    "Scale",
    "Selected",
    "SetExponent",
    "SetUnderflowMode",
    "Sleep",
    "Spacing",
    "StopStatement",
    "SupportHalting",
    "SystemClock",
    "UPow",
    "cpow",
    "cqpow",
    "fe",
    "time",
    "zpow",
];

/// The entry's description, if it is in the table.
pub fn function(name: &str) -> Option<Function> {
    let name = name.strip_prefix(PREFIX)?;
    if let Some(entry) = TABLE.iter().find(|e| matches(e.pattern, name)) {
        let mut function = Function::fortran(entry.effects, entry.calls, entry.keeps);
        // An assignment whose sides share memory reads the right one first.
        function.fills = name.starts_with("Assign");
        return Some(function);
    }
    // The operation's arguments are temporaries of the library.
    if let Some(rest) = name.strip_prefix("Reduce").or(name.strip_prefix("CppReduce")) {
        return Some(reduce(rest, name.starts_with("Cpp")));
    }
    let plain = PLAIN.iter().any(|p| name.starts_with(p));
    plain.then(|| Function::fortran(&[], name.starts_with("ProgramEnd"), None))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// Scalar results come back as a value, or through argument 0 for complex numbers, characters and derived types.
fn reduce(rest: &str, complex: bool) -> Function {
    const TOTAL: &[Effect] = &[(R, 0, D), (R, 5, D), (R, 6, N(16))];
    const BY_DIMENSION: &[Effect] = &[(R, 1, D), (R, 6, D), (R, 7, N(64)), (W, 0, H)];
    const BY_REFERENCE: &[Effect] = &[(R, 1, D), (R, 6, D), (R, 7, N(64)), (W, 0, N(1024))];
    let effects = if rest.contains("Dim") {
        BY_DIMENSION
    } else if complex || rest.starts_with("Char") || rest.starts_with("Derived") {
        BY_REFERENCE
    } else {
        TOTAL
    };
    Function::fortran(effects, true, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_counts() {
        for (i, entry) in TABLE.iter().enumerate() {
            let name = entry.pattern.trim_end_matches('*');
            let first = TABLE.iter().position(|e| matches(e.pattern, name));
            assert_eq!(first, Some(i), "{} is hidden by an earlier pattern", entry.pattern);
        }
    }

    #[test]
    fn kinds_of_arguments_are_part_of_the_name() {
        for name in ["SumReal8", "MatmulTransposeReal8Real4", "ioOutputInteger32", "FPow8i", "ReduceReal8Ref"]
        {
            assert!(function(&format!("{PREFIX}{name}")).is_some(), "{name}");
        }
        assert!(function("_FortranANoSuchThing").is_none());
        assert!(function("SumReal8").is_none());
    }
}

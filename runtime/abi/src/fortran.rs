//! Entries of flang's runtime library that the runtime stands in front of.

/// What the library's functions for input and output statements are called; [`STATEMENTS`] without it.
pub const LIBRARY_PREFIX: &str = "_FortranAio";
/// What the runtime's functions are called that take their place, with the same arguments.
pub const RUNTIME_PREFIX: &str = "__dsm_io";

/// The functions for input and output statements that know of the unit or the statement: all but `CheckUnitNumberInRange*`.
#[rustfmt::skip]
pub const STATEMENTS: &[&str] = &[
    "BeginBackspace", "BeginClose", "BeginEndfile", "BeginExternalFormattedInput", "BeginExternalFormattedOutput",
    "BeginExternalListInput", "BeginExternalListOutput", "BeginFlush", "BeginInquireFile", "BeginInquireIoLength", "BeginInquireUnit",
    "BeginInternalArrayFormattedInput", "BeginInternalArrayFormattedOutput", "BeginInternalArrayListInput",
    "BeginInternalArrayListOutput", "BeginInternalFormattedInput", "BeginInternalFormattedOutput", "BeginInternalListInput",
    "BeginInternalListOutput", "BeginOpenNewUnit", "BeginOpenUnit", "BeginRewind", "BeginUnformattedInput", "BeginUnformattedOutput",
    "BeginWait", "BeginWaitAll", "EnableHandlers", "EndIoStatement", "GetAsynchronousId", "GetIoLength", "GetIoMsg", "GetNewUnit",
    "GetSize", "InputAscii", "InputCharacter", "InputComplex32", "InputComplex64", "InputDerivedType", "InputDescriptor", "InputInteger",
    "InputLogical", "InputNamelist", "InputReal32", "InputReal64", "InquireCharacter", "InquireInteger64", "InquireLogical",
    "InquirePendingId", "OutputAscii", "OutputCharacter", "OutputComplex32", "OutputComplex64", "OutputDerivedType", "OutputDescriptor",
    "OutputInteger128", "OutputInteger16", "OutputInteger32", "OutputInteger64", "OutputInteger8", "OutputLogical", "OutputNamelist",
    "OutputReal32", "OutputReal64", "SetAccess", "SetAction", "SetAdvance", "SetAsynchronous", "SetBlank", "SetCarriagecontrol",
    "SetConvert", "SetDecimal", "SetDelim", "SetEncoding", "SetFile", "SetForm", "SetPad", "SetPos", "SetPosition", "SetRec", "SetRecl",
    "SetRound", "SetSign", "SetStatus",
];

/// Further functions on units: of the library, of the runtime.
pub const ON_UNITS: &[(&str, &str)] = &[
    ("_FortranAFlush", "__dsm_io_flush"),
    ("_FortranAFseek", "__dsm_io_fseek"),
    ("_FortranAFtell", "__dsm_io_ftell"),
];

//! Attributes of functions, parameters and calls, and metadata.

use std::os::raw::{c_char, c_uint};

use inkwell::llvm_sys::core;
use inkwell::llvm_sys::prelude::LLVMAttributeRef;

use crate::llvm::{Type, Value};

fn attribute_kind(name: &str) -> c_uint {
    // SAFETY: {pointer, length} string.
    unsafe { core::LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

impl Value {
    /// Type in a call argument's `byval`-like attribute.
    pub fn call_type_attribute(self, argument: u32, name: &str) -> Option<Type> {
        // SAFETY: callers pass calls; attribute indices of arguments start at 1.
        unsafe {
            let raw = core::LLVMGetCallSiteEnumAttribute(self.0, argument + 1, attribute_kind(name));
            (!raw.is_null()).then(|| Type(core::LLVMGetTypeAttributeValue(raw)))
        }
    }

    /// Value of a call argument's integer attribute such as `align`.
    pub fn call_int_attribute(self, argument: u32, name: &str) -> Option<u64> {
        // SAFETY: as above.
        unsafe {
            let raw = core::LLVMGetCallSiteEnumAttribute(self.0, argument + 1, attribute_kind(name));
            (!raw.is_null()).then(|| core::LLVMGetEnumAttributeValue(raw))
        }
    }

    /// Type in a parameter's `byval`-like attribute.
    pub fn param_type_attribute(self, index: u32, name: &str) -> Option<Type> {
        // SAFETY: callers pass functions; attribute indices of parameters start at 1.
        unsafe {
            let raw = core::LLVMGetEnumAttributeAtIndex(self.0, index + 1, attribute_kind(name));
            (!raw.is_null()).then(|| Type(core::LLVMGetTypeAttributeValue(raw)))
        }
    }

    /// Adds an enum attribute to a function.
    pub fn add_function_attribute(self, name: &str) {
        self.add_attribute(core::LLVMGetEnumAttributeKindForName, name, u32::MAX, 0)
    }

    /// Tells LLVM that a function reads and writes nothing that it knows of.
    pub fn set_touches_inaccessible_memory(self) {
        // Two bits for each place, of which this is the second: read and written.
        const INACCESSIBLE: u64 = 3 << 2;
        self.add_attribute(core::LLVMGetEnumAttributeKindForName, "memory", u32::MAX, INACCESSIBLE)
    }

    fn add_attribute(
        self,
        kind_of: unsafe extern "C" fn(*const c_char, usize) -> c_uint,
        name: &str,
        index: u32,
        value: u64,
    ) {
        // SAFETY: live handle of a function; the context is its own.
        unsafe {
            let kind = kind_of(name.as_ptr().cast(), name.len());
            assert!(kind != 0, "LLVM knows no attribute {name}");
            let context = core::LLVMGetTypeContext(core::LLVMTypeOf(self.0));
            let attribute = core::LLVMCreateEnumAttribute(context, kind, value);
            core::LLVMAddAttributeAtIndex(self.0, index, attribute);
        }
    }

    /// Gives the result and the parameters of a function those of these enum attributes that another of its type has.
    pub fn copy_attributes(self, from: Value, names: &[&str]) {
        from.passing_attributes(names, |index, attribute| {
            // SAFETY: both are functions with as many parameters, of one context.
            unsafe { core::LLVMAddAttributeAtIndex(self.0, index, attribute) }
        });
    }

    /// The same for a call of the other function.
    pub fn copy_attributes_to_call(self, from: Value, names: &[&str]) {
        from.passing_attributes(names, |index, attribute| {
            // SAFETY: the call has at least the arguments that the function has parameters.
            unsafe { core::LLVMAddCallSiteAttribute(self.0, index, attribute) }
        });
    }

    fn passing_attributes(self, names: &[&str], mut each: impl FnMut(c_uint, LLVMAttributeRef)) {
        // Index 0 is the result.
        for index in 0..=self.param_count() {
            for name in names {
                // SAFETY: callers pass functions, and the index is in range.
                let raw = unsafe { core::LLVMGetEnumAttributeAtIndex(self.0, index, attribute_kind(name)) };
                if !raw.is_null() {
                    each(index, raw);
                }
            }
        }
    }

    /// Removes an enum attribute of a function's parameter (0-based).
    pub fn remove_param_attribute(self, index: u32, name: &str) {
        // SAFETY: live handle of a function; removing an absent attribute does nothing.
        unsafe { core::LLVMRemoveEnumAttributeAtIndex(self.0, index + 1, attribute_kind(name)) }
    }

    /// True if a function's parameter (0-based) has the enum attribute.
    pub fn has_param_attribute(self, index: u32, name: &str) -> bool {
        // SAFETY: callers pass functions and a parameter in range.
        !unsafe { core::LLVMGetEnumAttributeAtIndex(self.0, index + 1, attribute_kind(name)) }.is_null()
    }

    /// True if a function has the enum attribute.
    pub fn has_function_attribute(self, name: &str) -> bool {
        // SAFETY: callers pass functions only.
        !unsafe { core::LLVMGetEnumAttributeAtIndex(self.0, u32::MAX, attribute_kind(name)) }.is_null()
    }

    /// True if a function has the string attribute.
    pub fn has_function_text(self, name: &str) -> bool {
        let (data, len) = (name.as_ptr().cast(), name.len() as c_uint);
        // SAFETY: callers pass functions only; {pointer, length} string.
        !unsafe { core::LLVMGetStringAttributeAtIndex(self.0, u32::MAX, data, len) }.is_null()
    }

    /// Adds a string attribute without a value to a function.
    pub fn add_function_text(self, name: &str) {
        // SAFETY: callers pass functions only; {pointer, length} strings that LLVM copies.
        unsafe {
            let context = core::LLVMGetTypeContext(core::LLVMTypeOf(self.0));
            let len = name.len() as c_uint;
            let attribute =
                core::LLVMCreateStringAttribute(context, name.as_ptr().cast(), len, c"".as_ptr(), 0);
            core::LLVMAddAttributeAtIndex(self.0, u32::MAX, attribute);
        }
    }

    /// Removes an enum attribute of a function.
    pub fn remove_function_attribute(self, name: &str) {
        // SAFETY: as above.
        unsafe { core::LLVMRemoveEnumAttributeAtIndex(self.0, u32::MAX, attribute_kind(name)) }
    }

    /// Adds an enum attribute to a call as a whole.
    pub fn add_call_attribute(self, name: &str) {
        // SAFETY: callers pass calls; the context is the call's own.
        unsafe {
            let context = core::LLVMGetTypeContext(core::LLVMTypeOf(self.0));
            let attribute = core::LLVMCreateEnumAttribute(context, attribute_kind(name), 0);
            core::LLVMAddCallSiteAttribute(self.0, u32::MAX, attribute);
        }
    }

    /// Removes an enum attribute of a call as a whole.
    pub fn remove_call_attribute(self, name: &str) {
        // SAFETY: callers pass calls; removing an absent attribute does nothing.
        unsafe { core::LLVMRemoveCallSiteEnumAttribute(self.0, u32::MAX, attribute_kind(name)) }
    }

    /// Attaches a text to an instruction. Optimisations keep it or drop it.
    pub fn set_text(self, kind: &str, text: &str) {
        // SAFETY: live handle of an instruction; {pointer, length} strings; the node is made in the instruction's context.
        unsafe {
            let context = core::LLVMGetTypeContext(core::LLVMTypeOf(self.0));
            let kind = core::LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as c_uint);
            let mut part = core::LLVMMDStringInContext2(context, text.as_ptr().cast(), text.len());
            let node = core::LLVMMDNodeInContext2(context, &mut part, 1);
            core::LLVMSetMetadata(self.0, kind, core::LLVMMetadataAsValue(context, node));
        }
    }

    /// The text that [`Value::set_text`] has attached.
    pub fn attached_text(self, kind: &str) -> Option<String> {
        // SAFETY: as above; the node has one operand, a string.
        unsafe {
            let context = core::LLVMGetTypeContext(core::LLVMTypeOf(self.0));
            let kind = core::LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as c_uint);
            let node = core::LLVMGetMetadata(self.0, kind);
            if node.is_null() {
                return None;
            }
            let mut part = std::ptr::null_mut();
            core::LLVMGetMDNodeOperands(node, &mut part);
            let mut length = 0;
            let text = core::LLVMGetMDString(part, &mut length);
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length as usize);
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }

    /// Removes an instruction's metadata of the kind.
    pub fn remove_metadata(self, kind: &str) {
        // SAFETY: live handle of an instruction; a null node removes.
        unsafe {
            let context = core::LLVMGetTypeContext(core::LLVMTypeOf(self.0));
            let kind = core::LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as c_uint);
            core::LLVMSetMetadata(self.0, kind, std::ptr::null_mut());
        }
    }
}

//! The plugin's two doors: LLVM asks for the plugin's description, and later runs the pass.

use std::os::raw::{c_char, c_int, c_void};

use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};

use super::{Manager, Module, Raw, Value};
use crate::analysis::invariant;
use crate::options::Options;
use crate::rewrite::{reduction_barriers, widen};

unsafe extern "C" {
    fn dsm_shim_register(builder: Raw);
}

/// Version of the plugin interface of LLVM 22; LLVM refuses a plugin that says another.
const PLUGIN_API_VERSION: u32 = 2;

/// LLVM's `PassPluginLibraryInfo`.
#[repr(C)]
pub struct PluginInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: unsafe extern "C" fn(*mut c_void),
    pre_codegen: Option<unsafe extern "C" fn()>,
}

/// Entry point that LLVM looks up by name.
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> PluginInfo {
    PluginInfo {
        api_version: PLUGIN_API_VERSION,
        name: c"dsm".as_ptr(),
        version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
        register: dsm_shim_register,
        pre_codegen: None,
    }
}

/// Called when the pipeline is made: 1 if loop-invariant code is to be moved out of loops first (switch `invariant`).
#[unsafe(no_mangle)]
extern "C" fn dsm_pass_moves_invariants() -> c_int {
    // Wrong options are reported when the pass runs.
    Options::from_env().is_ok_and(|options| invariant::enabled(&options)).into()
}

/// Called when the pipeline is made: 1 if subscripts are to be widened.
#[unsafe(no_mangle)]
extern "C" fn dsm_pass_widens() -> c_int {
    let Ok(options) = Options::from_env() else { return 0 };
    crate::fault::seed(options.fault);
    widen::enabled(&options).into()
}

/// Called where LLVM has simplified a function; returns 1 if the function changed.
#[unsafe(no_mangle)]
extern "C" fn dsm_pass_widen(module: LLVMModuleRef, function: LLVMValueRef) -> c_int {
    widen::subscripts(Module(module), Value(function)).into()
}

/// Called when the pipeline is made: 1 if accesses in loops are to be counted.
#[unsafe(no_mangle)]
extern "C" fn dsm_pass_counts() -> c_int {
    Options::from_env().is_ok_and(|options| options.stats).into()
}

/// Called with the number of loads and stores in loops, before invariant code is moved and after.
#[unsafe(no_mangle)]
extern "C" fn dsm_pass_loop_accesses(accesses: u64, after: c_int) {
    invariant::note(accesses, after != 0);
}

/// Called at the start of the pipeline; returns 1 if the module changed.
#[unsafe(no_mangle)]
extern "C" fn dsm_pass_early(module: LLVMModuleRef) -> c_int {
    let module = Module(module);
    let regions = crate::rewrite::target::regions(module);
    // Wrong options are reported when the pass runs.
    let left_out = Options::from_env().is_ok_and(|o| reduction_barriers::leave_out(module, &o));
    (crate::rewrite::barriers::add(module) || regions || left_out).into()
}

/// Called at the end of the pipeline; returns 1 if the module changed.
#[unsafe(no_mangle)]
extern "C" fn dsm_pass_verify(module: LLVMModuleRef) -> c_int {
    crate::verify(Module(module)).into()
}

/// Called by the shim's pass object; returns 1 if the module changed.
#[unsafe(no_mangle)]
extern "C" fn dsm_pass_run(module: LLVMModuleRef, manager: *mut c_void) -> c_int {
    crate::run(Module(module), Manager(manager)).into()
}

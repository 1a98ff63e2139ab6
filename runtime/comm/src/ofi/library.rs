//! libfabric, loaded when it is first asked for.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use super::sys::{DupInfo, FI_PROV_ATTR_ONLY, FreeInfo, GetInfo, OpenFabric, StrError, VERSION};

/// Why there is no fabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfiError {
    /// The library, or a function of it, is not there.
    #[error(
        "DSM_TRANSPORT=ofi: libfabric cannot be loaded: {0}; install it on all hosts (Debian: libfabric1), or leave DSM_TRANSPORT out to use TCP"
    )]
    Library(String),
    /// No provider does what is needed.
    #[error(
        "DSM_TRANSPORT=ofi: libfabric has no provider{named} with reliable datagrams and tagged messages{at}: {cause}; `fi_info -t FI_EP_RDM -c FI_TAGGED` \
         lists those of this host, and ofi:PROVIDER chooses one"
    )]
    Provider {
        /// What the user asked for.
        named: String,
        /// The own address, if there is one that counts.
        at: String,
        /// What the library says.
        cause: String,
    },
    /// The provider's bounds are too narrow.
    #[error(
        "DSM_TRANSPORT=ofi: the provider {provider} takes {limit} {what}, and {needed} are needed; choose another one by ofi:PROVIDER, or leave DSM_TRANSPORT out to use TCP"
    )]
    Limit {
        /// Its name.
        provider: String,
        /// What is bounded.
        what: &'static str,
        /// How much there may be.
        limit: usize,
        /// How much there has to be.
        needed: usize,
    },
    /// Something that the library refused.
    #[error("DSM_TRANSPORT=ofi: cannot {what} (provider {provider}): {cause}")]
    Failed {
        /// What was tried.
        what: &'static str,
        /// Whose part of the library it is.
        provider: String,
        /// What the library says.
        cause: String,
    },
    /// Processes have different providers.
    #[error(
        "DSM_TRANSPORT=ofi: this process uses the provider {own}, process {peer} uses {other}; choose one that all hosts have, by ofi:PROVIDER"
    )]
    Different {
        /// The own provider.
        own: String,
        /// Who has another one.
        peer: u32,
        /// That.
        other: String,
    },
}

/// The functions that the library exports. All others are in tables of the objects that these make.
pub(super) struct Library {
    pub(super) get_info: GetInfo,
    pub(super) free_info: FreeInfo,
    pub(super) dup_info: DupInfo,
    pub(super) open_fabric: OpenFabric,
    str_error: StrError,
}

/// How the library's cache of registered memory learns of unmapped memory: it would patch functions of the C library, and all memory that is used here is registered once.
const CACHE_MONITOR: (&str, &str) = ("FI_MR_CACHE_MONITOR", "disabled");
/// What limits the library to some providers: others take up to half a second to look for their adapters.
const PROVIDERS: &str = "FI_PROVIDER";

impl Library {
    /// The library, which stays loaded, for a provider (any if empty).
    pub(super) fn get(provider: &str) -> Result<&'static Library, OfiError> {
        static LIBRARY: OnceLock<Result<Library, OfiError>> = OnceLock::new();
        LIBRARY.get_or_init(|| Library::load(provider)).as_ref().map_err(Clone::clone)
    }

    fn load(provider: &str) -> Result<Library, OfiError> {
        // SAFETY: the library's constructors expect nothing of this process.
        let handle = unsafe { libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(loading_error());
        }
        let symbol = |name: &CStr| {
            // SAFETY: the library is open.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if found.is_null() { Err(loading_error()) } else { Ok(found) }
        };
        // SAFETY: these are the functions' types in the library's headers.
        let library = unsafe {
            Library {
                get_info: std::mem::transmute::<*mut c_void, GetInfo>(symbol(c"fi_getinfo")?),
                free_info: std::mem::transmute::<*mut c_void, FreeInfo>(symbol(c"fi_freeinfo")?),
                dup_info: std::mem::transmute::<*mut c_void, DupInfo>(symbol(c"fi_dupinfo")?),
                open_fabric: std::mem::transmute::<*mut c_void, OpenFabric>(symbol(c"fi_fabric")?),
                str_error: std::mem::transmute::<*mut c_void, StrError>(symbol(c"fi_strerror")?),
            }
        };
        initialise(&library, provider);
        Ok(library)
    }

    /// What an error code, negative as functions return it, means.
    pub(super) fn explain(&self, code: isize) -> String {
        // SAFETY: any number may be asked for; the text is constant.
        let text = unsafe { CStr::from_ptr((self.str_error)(-code as c_int)) };
        text.to_string_lossy().into_owned()
    }
}

/// Has the library read its settings, which it does once, and leaves the environment as it was.
fn initialise(library: &Library, provider: &str) {
    let only = provider.replace(';', ",");
    let mut settings = vec![CACHE_MONITOR];
    settings.extend((!only.is_empty()).then_some((PROVIDERS, &*only)));
    // What the user has set stays.
    settings.retain(|(name, _)| std::env::var_os(name).is_none());
    for (name, value) in &settings {
        // SAFETY: the process is being set up: nobody else uses the C library's functions for the environment.
        unsafe { std::env::set_var(name, value) };
    }
    let mut info = std::ptr::null_mut();
    // SAFETY: asks for the names of all providers, which may be none.
    unsafe {
        let (nothing, no_name) = (std::ptr::null(), std::ptr::null());
        if (library.get_info)(VERSION, no_name, no_name, FI_PROV_ATTR_ONLY, nothing, &raw mut info) == 0 {
            (library.free_info)(info);
        }
    }
    for (name, _) in &settings {
        // SAFETY: as above.
        unsafe { std::env::remove_var(name) };
    }
}

fn loading_error() -> OfiError {
    // SAFETY: the text is this thread's until its next call of these functions.
    let text =
        unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text).to_string_lossy().into_owned()) };
    OfiError::Library(text.unwrap_or_else(|| "no reason is given".to_owned()))
}

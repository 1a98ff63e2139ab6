//! The runtime's table of environment variables, for `--help-env`.
//!
//! It is the runtime's own source file, compiled a second time: the launcher must not link the runtime, which
//! brings a `main` of its own.

#[path = "../../../runtime/src/config/mod.rs"]
#[allow(dead_code, reason = "the launcher only prints the table and reads the transport")]
mod config;

pub use config::{MAX_THREADS, help, page};

/// Whether the processes reach each other's memory over sockets.
pub fn has_streams() -> bool {
    matches!(config::get().transport, config::Transport::Stream(_))
}

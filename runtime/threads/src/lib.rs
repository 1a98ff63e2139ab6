//! What threads of one process do with each other: wait, spin, take turns, keep others out of user code.
//!
//! The lock-free parts take their atomics from [`primitive`], so that loom can search their interleavings; the rest does without it then.

pub mod atomic;
pub mod backoff;
pub mod bias;
pub mod member;
pub mod primitive;
pub mod quiesce;
pub mod user_code;
pub mod wait;
pub mod yielding;

#[cfg(not(loom))]
pub mod fence;
#[cfg(not(loom))]
pub mod fork;
#[cfg(not(loom))]
pub mod futex;
#[cfg(not(loom))]
pub mod handler;

//! Tasks of the processes, as the runtime's pool keeps them (`runtime/omp/src/task`), cut down to what the hand-over needs: one queue a process, no dependences,
//! and an oracle that knows of all.

mod help;
mod pool;

pub use help::{Helper, make, serve_calls, task_barrier, wait_for_children, wait_in_user_code};
pub use pool::{Node, Phase, Pool, Shape, Tasks};

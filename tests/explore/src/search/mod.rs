//! Ways through the schedules of a program.

pub mod exhaustive;
pub mod orders;
pub mod random;
pub mod steered;

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

use crate::program::Program;
use crate::run::Run;
use crate::world::Choice;

/// What a search of all schedules covered.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Different states reached.
    pub states: usize,
    /// Runs from the start.
    pub runs: usize,
    /// Whether nothing was left out.
    pub complete: bool,
    /// What memory can be like when all operations have ended; only of programs whose closing is in order.
    pub ends: HashSet<u64>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = if self.complete { "complete" } else { "given up" };
        write!(f, "{} states, {} runs, {} ends, {all}", self.states, self.runs, self.ends.len())
    }
}

/// A failed run, with what is needed to see it again.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub why: String,
    /// The program.
    pub program: Rc<Program>,
    /// The schedule.
    pub schedule: Vec<Choice>,
}

impl Failure {
    /// Runs the schedule again and gives a readable account.
    pub fn account(&self) -> String {
        let mut run = Run::new(&self.program, true);
        let mut choices = Vec::new();
        for choice in &self.schedule {
            run.choices(&mut choices);
            if run.finished(&choices) || !choices.contains(choice) {
                break;
            }
            run.step(*choice);
        }
        run.choices(&mut choices);
        run.finished(&choices);
        let trace = run.world.borrow_mut().trace.take().unwrap_or_default();
        format!("{}{}\n{}", self.program, trace.join("\n"), self.why)
    }
}

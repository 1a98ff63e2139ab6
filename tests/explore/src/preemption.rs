//! All schedules of a program with a bounded number of preemptions (Musuvathi, Qadeer, PLDI 2007), depth first. Threads cannot be copied, so
//! each schedule runs from the beginning.

/// A run of a program whose schedule is chosen from outside.
pub trait Schedulable {
    /// What can happen next.
    type Choice: Copy + PartialEq;

    /// What can happen now; not empty before the run is over.
    fn choices(&self) -> Vec<Self::Choice>;

    /// What happens by default after `last`, if one of `choices` does: the others interrupt it.
    fn preferred(choices: &[Self::Choice], last: Option<Self::Choice>) -> Option<usize> {
        last.and_then(|last| choices.iter().position(|choice| *choice == last))
    }

    /// Lets it happen.
    fn step(&mut self, choice: Self::Choice);

    /// Whether nothing can happen any more.
    fn is_over(&self) -> bool;

    /// Of a run that is over: what went wrong.
    fn verdict(&mut self) -> Option<String>;
}

struct Branch<C> {
    options: Vec<C>,
    next: usize,
    /// Whether all options but the first are preemptions.
    preempts: bool,
    /// How many preemptions are allowed from here on.
    left: u32,
}

impl<C: Copy + PartialEq> Branch<C> {
    fn new<R: Schedulable<Choice = C>>(run: &R, last: Option<&Branch<C>>, most: u32) -> Branch<C> {
        let mut options = run.choices();
        let left = last.map_or(most, |last| last.left - u32::from(last.preempts && last.next > 0));
        let preferred = R::preferred(&options, last.map(Branch::chosen));
        if let Some(at) = preferred {
            options.swap(0, at);
            options.truncate(if left == 0 { 1 } else { options.len() });
        }
        Branch { options, next: 0, preempts: preferred.is_some(), left }
    }

    fn chosen(&self) -> C {
        self.options[self.next]
    }
}

/// Runs all schedules with at most so many preemptions, each in a run that `begin` makes; the number of runs.
///
/// # Errors
/// The verdict of the first run that went wrong, and its schedule.
pub fn exhaust<R: Schedulable>(
    begin: impl Fn() -> R,
    preemptions: u32,
) -> Result<u64, (String, Vec<R::Choice>)> {
    let mut branches: Vec<Branch<R::Choice>> = Vec::new();
    let mut runs = 0;
    loop {
        runs += 1;
        let mut run = begin();
        branches.iter().for_each(|branch| run.step(branch.chosen()));
        while !run.is_over() {
            let branch = Branch::new(&run, branches.last(), preemptions);
            run.step(branch.chosen());
            branches.push(branch);
        }
        if let Some(why) = run.verdict() {
            return Err((why, branches.iter().map(Branch::chosen).collect()));
        }
        while branches.last().is_some_and(|branch| branch.next + 1 == branch.options.len()) {
            branches.pop();
        }
        match branches.last_mut() {
            Some(branch) => branch.next += 1,
            None => return Ok(runs),
        }
    }
}

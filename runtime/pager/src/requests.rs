//! Requests of other processes for pages of a process's memory file, and their answers.
//!
//! A page that was brought for another process may leave again before that one has looked whether it is there. So it does not look for the page: a request stays until the page's owner has had the
//! page in its memory file, and that it is gone is the answer. Who has got one tries its access again, which may be a new request.
//!
//! One word for each group of 64 pages has a bit for each page that somebody has asked for; processes that ask for the same page share the bit, and the last one's answer is everybody's.
//! Each process has a *bell*, which it sleeps at, and a count of the answers it waits for: who has asked rings the owner's bell, who has answered those of the processes that wait.

use crate::stores::SharedWord;

/// Requests for the pages of a group.
#[derive(Clone, Copy, Debug)]
pub struct Requests<W>(pub W);

impl<W: SharedWord> Requests<W> {
    /// Asks for pages; `waits` is the word of the process that asks. It rings the owner's bell next, and looks at [`Requests::take_answer`] whenever its own rings.
    pub fn ask(self, pages: u64, waits: W) {
        // Before the request, so that who answers it sees that.
        waits.add(1);
        self.0.set(pages);
    }

    /// Whether what [`Requests::ask`] asked for was answered: then the process does not wait for it any more.
    pub fn take_answer(self, pages: u64, waits: W) -> bool {
        let is_answered = self.0.load() & pages == 0;
        if is_answered {
            waits.add(1u64.wrapping_neg());
        }
        is_answered
    }

    /// Pages that are asked for. The owner looks when its bell rings.
    pub fn open(self) -> u64 {
        self.0.load()
    }

    /// These pages are in the memory file. Returns whether somebody has asked for one of them; the owner rings the bells of the processes that wait then ([`is_waiting`]).
    pub fn answer(self, pages: u64) -> bool {
        // Pages that are asked for now are found when the bell rings.
        let is_asked = self.0.load() & pages != 0;
        if is_asked {
            self.0.clear(pages);
        }
        is_asked
    }
}

/// Whether a process waits for answers.
pub fn is_waiting<W: SharedWord>(waits: W) -> bool {
    waits.load() != 0
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64;
    use loom::thread;

    use super::*;

    /// Known ways to get it wrong.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Fault {
        /// Who asks looks whether the page is there.
        LooksForPage,
        /// Nobody hears of the answer.
        SilentAnswer,
        /// A process says that it waits after it has asked.
        WaitsLate,
        /// A request counts as answered when it is taken, before the page has come.
        AnsweredAtOnce,
        /// A request for a page that is there is not answered.
        PresentNotAnswered,
    }

    const PAGE: u64 = 1;

    #[derive(Default)]
    struct Host {
        wanted: AtomicU64,
        /// Pages in the owner's memory file, and those that ever were.
        present: AtomicU64,
        came: AtomicU64,
        waits: [AtomicU64; 2],
        /// Whether they rang, and nobody has heard it.
        bells: [AtomicU64; 2],
        owner: AtomicU64,
    }

    fn hear(bell: &AtomicU64) -> bool {
        bell.replace(1, 0)
    }

    impl Host {
        fn requests(&self) -> Requests<&AtomicU64> {
            Requests(&self.wanted)
        }

        /// A process asks for a page and waits, until its bell does not ring. Returns whether it was answered.
        fn access(&self, process: usize, fault: Option<Fault>) -> bool {
            if fault == Some(Fault::WaitsLate) {
                (&self.wanted).set(PAGE);
                (&self.owner).set(1);
                (&self.waits[process]).add(1);
            } else {
                self.requests().ask(PAGE, &self.waits[process]);
                (&self.owner).set(1);
            }
            self.wait(process, fault)
        }

        fn wait(&self, process: usize, fault: Option<Fault>) -> bool {
            loop {
                let is_done = match fault {
                    Some(Fault::LooksForPage) => SharedWord::load(&self.present) == PAGE,
                    _ => self.requests().take_answer(PAGE, &self.waits[process]),
                };
                if is_done {
                    assert_eq!(SharedWord::load(&self.came), PAGE, "the page never was there");
                    return true;
                }
                if !hear(&self.bells[process]) {
                    return false;
                }
            }
        }

        fn answer(&self, fault: Option<Fault>) {
            let is_heard = self.requests().answer(PAGE) && fault != Some(Fault::SilentAnswer);
            for (waits, bell) in self.waits.iter().zip(&self.bells) {
                if is_heard && is_waiting(waits) {
                    bell.set(1);
                }
            }
        }

        /// The owner brings what is asked for, as long as its bell rings; others drive it out at once, where `leaves`.
        fn serve(&self, leaves: bool, fault: Option<Fault>) {
            while hear(&self.owner) {
                if self.requests().open() & PAGE == 0 {
                    continue;
                }
                if SharedWord::load(&self.present) == PAGE {
                    if fault != Some(Fault::PresentNotAnswered) {
                        self.answer(fault);
                    }
                    continue;
                }
                if fault == Some(Fault::AnsweredAtOnce) {
                    self.answer(fault);
                }
                (&self.came).set(PAGE);
                (&self.present).set(PAGE);
                self.answer(fault);
                if leaves {
                    (&self.present).clear(PAGE);
                }
            }
        }
    }

    /// Processes ask for the same page. Whoever sleeps at a bell that does not ring sleeps for ever.
    fn asked_for(processes: usize, leaves: bool, is_there: bool, fault: Option<Fault>) {
        let mut model = loom::model::Builder::new();
        // Two processes have too many interleavings.
        model.preemption_bound = (processes > 1).then_some(2);
        model.check(move || {
            let host = Arc::new(Host::default());
            if is_there {
                (&host.came).set(PAGE);
                (&host.present).set(PAGE);
            }
            let others = (0..processes).map(|process| {
                let host = host.clone();
                thread::spawn(move || host.access(process, fault))
            });
            let others: Vec<_> = others.collect();
            host.serve(leaves, fault);
            let done: Vec<bool> = others.into_iter().map(|other| other.join().unwrap()).collect();
            host.serve(leaves, fault);
            for process in (0..processes).filter(|process| !done[*process]) {
                let wakes = hear(&host.bells[process]);
                assert!(wakes && host.wait(process, fault), "a process sleeps for ever");
            }
        });
    }

    #[test]
    fn a_page_that_leaves_at_once_is_an_answer() {
        asked_for(1, true, false, None);
    }

    #[test]
    fn a_page_that_stays_is_an_answer() {
        asked_for(1, false, false, None);
        asked_for(1, false, true, None);
    }

    #[test]
    fn processes_that_ask_for_the_same_page_are_all_answered() {
        asked_for(2, true, false, None);
    }

    #[test]
    #[should_panic = "a process sleeps for ever"]
    fn who_looks_for_the_page_waits_for_ever() {
        asked_for(1, true, false, Some(Fault::LooksForPage));
    }

    #[test]
    #[should_panic = "a process sleeps for ever"]
    fn an_answer_that_nobody_hears_is_lost() {
        asked_for(1, true, false, Some(Fault::SilentAnswer));
    }

    #[test]
    #[should_panic = "a process sleeps for ever"]
    fn who_says_too_late_that_it_waits_is_not_woken() {
        asked_for(1, true, false, Some(Fault::WaitsLate));
    }

    #[test]
    #[should_panic = "the page never was there"]
    fn an_answer_before_the_page_is_none() {
        asked_for(1, true, false, Some(Fault::AnsweredAtOnce));
    }

    #[test]
    #[should_panic = "a process sleeps for ever"]
    fn a_page_that_is_there_must_be_answered() {
        asked_for(1, false, true, Some(Fault::PresentNotAnswered));
    }
}

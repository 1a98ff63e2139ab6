//! Pages in order: which ones accesses will want next (reading ahead as the Linux page cache does it).

use crate::page::{Page, Run};

/// Streams that are followed at a time: some for each thread.
const STREAMS: usize = 64;
/// Pages of the first window.
const FIRST: u32 = 16;

/// Accesses in order.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Page behind the last window.
    next: u32,
    /// First page of the last window, which is not in the program mapping: when it is touched, the next window is read.
    marker: u32,
    /// Pages of the last window; 0: only one page was wanted so far.
    window: u32,
    used: u64,
}

/// Follows accesses in order.
#[derive(Debug)]
pub(crate) struct Readahead {
    streams: [Stream; STREAMS],
    /// Most pages of a window.
    most: u32,
    clock: u64,
}

impl Readahead {
    pub(crate) fn new(most: u32) -> Readahead {
        Readahead { streams: [Stream::default(); STREAMS], most: most.max(1), clock: 0 }
    }

    /// A page is wanted that is not there. Returns what to bring: it begins with the page. `is_there` tells which pages an access finds, so that nobody hears of it.
    pub(crate) fn missing(&mut self, page: Page, is_there: impl Fn(Page) -> bool) -> Run {
        self.clock += 1;
        let clock = self.clock;
        let found = self.streams.iter_mut().find(|stream| {
            let is_near = (stream.next..stream.next + stream.window.max(1)).contains(&page.0);
            stream.used > 0 && is_near && (stream.next..page.0).all(|page| is_there(Page(page)))
        });
        if let Some(stream) = found {
            let window = if stream.window == 0 { FIRST } else { 2 * stream.window }.min(self.most);
            *stream = Stream { next: page.0 + window, marker: page.0 + window, window, used: clock };
            return Run { first: page, count: window };
        }
        let oldest = self.streams.iter_mut().min_by_key(|stream| stream.used).expect("there are streams");
        *oldest = Stream { next: page.0 + 1, marker: page.0 + 1, window: 0, used: clock };
        Run::single(page)
    }

    /// A page is touched that was read ahead. Returns the next window, if it begins one.
    pub(crate) fn touched(&mut self, page: Page) -> Option<Run> {
        self.clock += 1;
        let (clock, most) = (self.clock, self.most);
        let stream = self.streams.iter_mut().find(|stream| stream.window > 0 && stream.marker == page.0)?;
        let window = (2 * stream.window).min(most);
        let run = Run { first: Page(stream.next), count: window };
        *stream = Stream { next: run.end(), marker: run.first.0, window, used: clock };
        Some(run)
    }

    /// Whether the page begins a window: it must not be mapped before it is touched.
    pub(crate) fn is_marker(&self, page: Page) -> bool {
        self.streams.iter().any(|stream| stream.window > 0 && stream.marker == page.0)
    }

    /// In front of a page, nothing of the window that begins or began the last one was to be read.
    pub(crate) fn mark(&mut self, window: Run, first: Page) {
        let found =
            self.streams.iter_mut().find(|stream| stream.marker == window.first.0 && stream.window > 0);
        if let Some(stream) = found {
            stream.marker = first.0;
        }
    }

    /// The first window of a stream has been asked for up to here: the one behind can be read as well.
    pub(crate) fn follow(&mut self, run: Run) -> Option<Run> {
        let stream = self.streams.iter_mut().find(|stream| stream.window > 0 && stream.next == run.end())?;
        let window = (2 * stream.window).min(self.most);
        let next = Run { first: Page(stream.next), count: window };
        *stream = Stream { next: next.end(), marker: next.first.0, window, ..*stream };
        Some(next)
    }
}

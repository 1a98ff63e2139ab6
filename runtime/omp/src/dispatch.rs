//! Loops whose chunks are asked for one by one, and ordered regions.
//!
//! The counter lives in the construct's [`ring`](super::ring) slot: chunk numbers for dynamic schedules, iterations
//! for guided ones. A thread leaves the slot when nothing is left for it. Dynamic loops of a team that spans processes have a counter
//! in each process instead, unless they are monotonic: see [`static_steal`](super::static_steal).

use std::ops::Range;

use super::frame::{self, Frame};
use super::ompt::abi::{Endpoint, MutexKind, WorkKind};
use super::ompt::{mutex, work};
use super::ring::{Slot, word};
use super::schedule::{self, Loop, LoopInt, Share, code};
use super::static_steal::Supply;
use super::{Loc, put};
use crate::config::ScheduleKind;
use crate::{sync, trace};

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    #[default]
    Whole,
    /// Contiguous shares, all but the last a multiple of `width`.
    Block {
        width: u64,
    },
    Chunked,
    Dynamic,
    Guided {
        width: u64,
    },
}

impl Mode {
    /// The kind of schedule that it carries out.
    fn schedule(self) -> Option<ScheduleKind> {
        match self {
            Mode::Whole => None,
            Mode::Block { .. } | Mode::Chunked => Some(ScheduleKind::Static),
            Mode::Dynamic => Some(ScheduleKind::Dynamic),
            Mode::Guided { .. } => Some(ScheduleKind::Guided),
        }
    }
}

/// A thread's place in the loop being handed out.
#[derive(Default)]
pub struct Dispatch {
    active: bool,
    shared: bool,
    number: u64,
    mode: Mode,
    range: Loop,
    chunk: u64,
    round: u64,
    /// Numbers of chunks that were asked for together.
    chunks: Range<u64>,
    /// In a guided schedule, the first iteration that nobody had taken, as far as the thread knows.
    untaken: u64,
    /// Whether several are: where asking takes a message.
    several: bool,
    /// Where each process has chunks of its own.
    supply: Option<Supply>,
    /// The thread has the last chunk of the supply, and executes it behind all others that it finds: `lastprivate` wants the values that the last iteration leaves.
    has_last: bool,
    ordered: bool,
    iteration: u64,
    bumped: bool,
    schedule: Option<ScheduleKind>,
}

impl Dispatch {
    fn begin(&mut self, frame: &Frame, kind: i32, range: Loop, chunk: i128) {
        self.end(frame);
        let icv = frame.icv.get().schedule;
        let mut is_monotonic = kind & code::NONMONOTONIC == 0;
        let mut kind = kind & !code::MODIFIERS;
        if kind >= code::NO_MERGE + 32 {
            kind -= code::NO_MERGE;
        }
        let ordered = kind > 64 && kind < code::DISTRIBUTE_CHUNKED;
        if ordered {
            kind -= code::ORDERED;
        }
        let mut chunk = chunk.clamp(0, i128::from(u64::MAX)) as u64;
        let mode = match kind {
            code::RUNTIME | code::RUNTIME_SIMD => {
                let width = if kind == code::RUNTIME_SIMD { chunk.max(1) } else { 1 };
                chunk = u64::from(icv.chunk.max(1)).saturating_mul(width);
                is_monotonic |= icv.monotonic == Some(true);
                match icv.kind {
                    ScheduleKind::Dynamic => Mode::Dynamic,
                    ScheduleKind::Guided => Mode::Guided { width },
                    ScheduleKind::Static if icv.chunk > 0 => Mode::Chunked,
                    _ => Mode::Block { width },
                }
            }
            code::DYNAMIC_CHUNKED => Mode::Dynamic,
            code::GUIDED_CHUNKED | code::TRAPEZOIDAL | 42 | 43 => Mode::Guided { width: 1 },
            code::GUIDED_SIMD => Mode::Guided { width: chunk.max(1) },
            code::STATIC_CHUNKED | code::STATIC_BALANCED_CHUNKED => Mode::Chunked,
            44 => Mode::Dynamic,
            _ => Mode::Block { width: 1 },
        };
        let schedule = match kind {
            code::RUNTIME | code::RUNTIME_SIMD => Some(icv.kind),
            _ => mode.schedule(),
        };
        let is_single = frame.team().size == 1;
        *self = Dispatch {
            active: true,
            shared: !is_single && (ordered || matches!(mode, Mode::Dynamic | Mode::Guided { .. })),
            number: 0,
            mode: if is_single { Mode::Whole } else { mode },
            range,
            chunk: chunk.max(1),
            round: 0,
            chunks: 0..0,
            untaken: 0,
            several: false,
            supply: None,
            has_last: false,
            ordered: ordered && !is_single,
            iteration: 0,
            bumped: false,
            schedule,
        };
        if self.shared {
            self.number = frame.next_construct();
            let slot = frame.enter_construct(self.number);
            // An ordered loop would have others wait for what is begun later.
            self.several = !self.ordered && slot.is_far();
            if mode == Mode::Dynamic && !self.ordered && !is_monotonic && frame.team().distributed() {
                self.supply = Supply::new(self.number, self.range.trip.div_ceil(self.chunk));
            }
        }
    }

    fn slot<'a>(&self, frame: &'a Frame) -> Slot<'a> {
        frame.team().ring.slot(self.number)
    }

    fn next(&mut self, frame: &Frame) -> Option<Share> {
        if !self.active {
            return None;
        }
        let (tid, size) = (frame.tid, frame.team().size);
        let (trip, chunk) = (self.range.trip, self.chunk);
        let once = |share: Share, round: u64| Some(share).filter(|s| round == 0 && s.count > 0);
        let share = match self.mode {
            Mode::Whole => once(Share { first: 0, count: trip, last: true }, self.round),
            Mode::Block { width } => once(schedule::blocks_of(width, trip, tid, size), self.round),
            Mode::Chunked if frame.team().has_consecutive_chunks(false) => {
                once(schedule::blocks_of(chunk, trip, tid, size), self.round)
            }
            Mode::Chunked => Some(schedule::chunked(trip, chunk, tid, size, self.round))
                .filter(|s| s.count > 0)
                .map(|share| Share { last: share.first + share.count == trip, ..share }),
            Mode::Dynamic => {
                let first = self.next_chunk(frame).saturating_mul(chunk);
                (first < trip).then(|| Share {
                    first,
                    count: chunk.min(trip - first),
                    last: trip - first <= chunk,
                })
            }
            Mode::Guided { width } => self.next_guided(frame, width),
        };
        self.round += 1;
        match share {
            Some(share) => self.iteration = share.first,
            None => self.end(frame),
        }
        share
    }

    /// Number of the next chunk of a dynamic schedule; there is none of that number when nothing is left.
    fn next_chunk(&mut self, frame: &Frame) -> u64 {
        if self.chunks.is_empty() && self.supply.is_some() {
            self.chunks = self.take_from_supply(frame);
            if self.chunks.is_empty() {
                return u64::MAX;
            }
        }
        if self.chunks.is_empty() {
            let remaining = self.range.trip.div_ceil(self.chunk).saturating_sub(self.chunks.end);
            let count = if self.several { schedule::chunks_at_once(remaining, frame.team().size) } else { 1 };
            let first = self.slot(frame).fetch_add(word::NEXT, count);
            self.chunks = first..first.saturating_add(count);
        }
        let next = self.chunks.start;
        self.chunks.start += 1;
        next
    }

    /// Numbers of the next chunks of the supply, of which the last one of the loop comes when nothing else is left.
    fn take_from_supply(&mut self, frame: &Frame) -> Range<u64> {
        let Some(supply) = &mut self.supply else { return 0..0 };
        let last = self.range.trip.div_ceil(self.chunk).saturating_sub(1);
        loop {
            let taken = supply.take(frame.team());
            if taken.is_empty() {
                return if std::mem::take(&mut self.has_last) { last..last + 1 } else { taken };
            }
            self.has_last |= taken.contains(&last);
            let others = taken.start..taken.end.min(last);
            if !others.is_empty() {
                return others;
            }
        }
    }

    fn next_guided(&mut self, frame: &Frame, width: u64) -> Option<Share> {
        let slot = self.slot(frame);
        let trip = self.range.trip;
        // Where a look is a message, nobody else may have taken anything since.
        let mut first = if slot.is_far() { self.untaken } else { slot.load(word::NEXT) };
        while first < trip {
            let count = schedule::guided_chunk(trip - first, self.chunk, width, frame.team().size);
            match slot.cas(word::NEXT, first, first + count) {
                Ok(_) => {
                    self.untaken = first + count;
                    return Some(Share { first, count, last: first + count == trip });
                }
                Err(now) => first = now,
            }
        }
        None
    }

    /// Leaves the loop, if this thread is in one.
    pub fn end(&mut self, frame: &Frame) {
        if self.active && self.shared {
            self.slot(frame).leave(self.number, frame.team().size, || ());
        }
        self.active = false;
    }

    /// What tools take the loop for.
    fn work_kind(&self) -> WorkKind {
        match self.schedule {
            Some(ScheduleKind::Static) => WorkKind::LoopStatic,
            Some(ScheduleKind::Dynamic) => WorkKind::LoopDynamic,
            Some(ScheduleKind::Guided) => WorkKind::LoopGuided,
            Some(ScheduleKind::Auto) | None => WorkKind::LoopOther,
        }
    }

    fn enter_ordered(&self, frame: &Frame) {
        if !self.ordered {
            return;
        }
        let rank = self.wait_turn(frame);
        if frame.team().distributed() && rank != 0 && rank - 1 != sync::rank() {
            sync::acquire_from(rank - 1);
        }
    }

    /// Waits until the ordered region of the iteration may run; gives the rank of the process that last left one, plus one.
    fn wait_turn(&self, frame: &Frame) -> u32 {
        let iteration = self.iteration << (64 - word::RANK_SHIFT);
        let turn = self.slot(frame).wait(word::ORDERED, |turn| turn << (64 - word::RANK_SHIFT) == iteration);
        (turn >> word::RANK_SHIFT) as u32
    }

    /// Lets the ordered region of the next iteration run; `rank`: as of [`Dispatch::wait_turn`].
    fn pass_turn(&self, frame: &Frame, rank: u32) {
        let iteration = (self.iteration + 1) & ((1 << word::RANK_SHIFT) - 1);
        self.slot(frame).store(word::ORDERED, iteration | u64::from(rank) << word::RANK_SHIFT);
    }

    fn leave_ordered(&mut self, frame: &Frame) {
        if !self.ordered {
            return;
        }
        if frame.team().distributed() {
            sync::release();
        }
        self.pass_turn(frame, sync::rank() + 1);
        self.bumped = true;
    }

    /// End of an iteration of an ordered loop; one that had no ordered region passes its turn on.
    fn end_iteration(&mut self, frame: &Frame) {
        if !self.ordered {
            return;
        }
        if !self.bumped {
            let rank = self.wait_turn(frame);
            self.pass_turn(frame, rank);
        }
        self.bumped = false;
        self.iteration += 1;
    }
}

macro_rules! dispatch_loops {
    ($($init:ident, $dist:ident, $next:ident, $fini:ident, $t:ty, $s:ty;)*) => {$(
        #[doc = "Begins a loop."]
        #[unsafe(export_name = concat!("dsm_rt_", stringify!($init)))]
        pub extern "C" fn $init(loc: Loc, _gtid: i32, kind: i32, lower: $t, upper: $t, stride: $s, chunk: $s) {
            trace::begin_loop(loc);
            let frame = frame::current();
            let range = Loop::new(lower, upper, stride.into());
            let trip = range.trip;
            frame.dispatch.borrow_mut().begin(frame, kind, range, chunk.into());
            let kind = frame.dispatch.borrow().work_kind();
            work::tell(frame, kind, Endpoint::Begin, trip);
        }

        #[doc = "Begins a loop inside a distribute construct."]
        #[unsafe(export_name = concat!("dsm_rt_", stringify!($dist)))]
        pub extern "C" fn $dist(
            loc: Loc, gtid: i32, kind: i32, _last: *mut i32, lower: $t, upper: $t, stride: $s, chunk: $s,
        ) {
            $init(loc, gtid, kind, lower, upper, stride, chunk);
        }

        #[doc = "The next chunk; 0 when none is left."]
        #[unsafe(export_name = concat!("dsm_rt_", stringify!($next)))]
        pub unsafe extern "C" fn $next(
            _loc: Loc, _gtid: i32, last: *mut i32, lower: *mut $t, upper: *mut $t, stride: *mut $s,
        ) -> i32 {
            let frame = frame::current();
            let mut dispatch = frame.dispatch.borrow_mut();
            let was_active = dispatch.active;
            let (share, kind) = (dispatch.next(frame), dispatch.work_kind());
            let Some(share) = share else {
                drop(dispatch);
                trace::end_loop();
                if was_active {
                    work::tell(frame, kind, Endpoint::End, 0);
                }
                return 0;
            };
            let (first, end) = dispatch.range.bounds(share);
            // SAFETY: the compiler passes valid places, or null.
            unsafe {
                put(last, i32::from(share.last));
                put(lower, <$t>::narrow(first));
                put(upper, <$t>::narrow(end));
                put(stride, <$s>::narrow(dispatch.range.stride));
            }
            drop(dispatch);
            work::chunk(frame, kind, share.first, share.count);
            1
        }

        #[doc = "End of an iteration of an ordered loop."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $fini(_loc: Loc, _gtid: i32) {
            let frame = frame::current();
            frame.dispatch.borrow_mut().end_iteration(frame);
        }
    )*};
}

dispatch_loops! {
    __kmpc_dispatch_init_4, __kmpc_dist_dispatch_init_4, __kmpc_dispatch_next_4, __kmpc_dispatch_fini_4, i32, i32;
    __kmpc_dispatch_init_4u, __kmpc_dist_dispatch_init_4u, __kmpc_dispatch_next_4u, __kmpc_dispatch_fini_4u, u32, i32;
    __kmpc_dispatch_init_8, __kmpc_dist_dispatch_init_8, __kmpc_dispatch_next_8, __kmpc_dispatch_fini_8, i64, i64;
    __kmpc_dispatch_init_8u, __kmpc_dist_dispatch_init_8u, __kmpc_dispatch_next_8u, __kmpc_dispatch_fini_8u, u64, i64;
}

/// End of a dispatched loop.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_dispatch_deinit(_loc: Loc, _gtid: i32) {
    let frame = frame::current();
    frame.dispatch.borrow_mut().end(frame);
}

/// Begin of an ordered region: waits for the regions of all earlier iterations.
#[unsafe(export_name = "dsm_rt___kmpc_ordered")]
pub extern "C" fn __kmpc_ordered(_loc: Loc, _gtid: i32) {
    let frame = frame::current();
    mutex::lock(MutexKind::Ordered, 0, ordered_name(frame), |_| frame.dispatch.borrow().enter_ordered(frame));
}

/// End of an ordered region.
#[unsafe(export_name = "dsm_rt___kmpc_end_ordered")]
pub extern "C" fn __kmpc_end_ordered(_loc: Loc, _gtid: i32) {
    let frame = frame::current();
    mutex::unlock(MutexKind::Ordered, ordered_name(frame), |_| {
        frame.dispatch.borrow_mut().leave_ordered(frame)
    });
}

/// What tools take for the name of the team's ordered regions.
fn ordered_name(frame: &Frame) -> u64 {
    frame.team as u64
}

//! Loops with static schedules: every thread computes its share, without meeting the others.

use dsm_abi::schedule::ANY_THREAD;

use super::frame::{self, Frame, League};
use super::ompt::work;
use super::schedule::{self, Loop, LoopInt, Share, code};
use super::team::Team;
use super::{Loc, get, put};
use crate::trace;

/// Where the compiler wants the results.
struct Places<T> {
    last: *mut i32,
    lower: *mut T,
    upper: *mut T,
    stride: *mut T,
}

/// Who shares a loop: this is `part` of `parts`.
#[derive(Clone, Copy)]
struct Sharer<'a> {
    part: u32,
    parts: u32,
    /// The team, of a loop that its threads share.
    team: Option<&'a Team>,
    /// Whether the program cannot tell which thread has which chunk.
    any_thread: bool,
}

impl Sharer<'_> {
    /// A thread that shares a loop of this kind of schedule.
    fn thread(frame: &Frame, kind: i32) -> Sharer<'_> {
        let any_thread = kind & ANY_THREAD != 0;
        Sharer { part: frame.tid, parts: frame.team().size, team: Some(frame.team()), any_thread }
    }

    fn team(league: League) -> Self {
        Sharer { part: league.team, parts: league.size(), team: None, any_thread: false }
    }

    /// Whether a thread has consecutive chunks. Not of one iteration in a league: clang's code for `distribute parallel for schedule(static, 1)` looks only at the first one and the stride.
    fn has_consecutive(&self, chunk: u64) -> bool {
        let is_strided = || chunk == 1 && frame::current().league.get() != League::NONE;
        self.team.is_some_and(|team| team.has_consecutive_chunks(self.any_thread)) && !is_strided()
    }
}

/// Shares the loop `*lower..=*upper`; gives its iterations and the first chunk.
unsafe fn share_out<T: LoopInt>(
    p: &Places<T>,
    kind: i32,
    increment: i128,
    chunk: i128,
    sharer: Sharer<'_>,
) -> (u64, Share) {
    // SAFETY: the compiler passes valid places for the bounds and null or valid ones for the rest.
    unsafe {
        let range = Loop::new(get(p.lower), get(p.upper), increment);
        let Sharer { part, parts, .. } = sharer;
        let chunk = chunk.clamp(1, i128::from(u64::MAX)) as u64;
        let kind = if kind >= code::NO_MERGE { kind - code::NO_MERGE } else { kind };
        let chunked =
            matches!(kind, code::STATIC_CHUNKED | code::STATIC_BALANCED_CHUNKED | code::DISTRIBUTE_CHUNKED)
                || kind == code::STATIC_CHUNKED + code::ORDERED;
        let whole = i128::from(range.trip);
        let (share, stride) = if parts == 1 && !chunked {
            (Share { first: 0, count: range.trip, last: range.trip > 0 }, whole)
        } else if chunked && sharer.has_consecutive(chunk) {
            (schedule::blocks_of(chunk, range.trip, part, parts), whole)
        } else if chunked {
            (schedule::chunked(range.trip, chunk, part, parts, 0), i128::from(chunk) * i128::from(parts))
        } else {
            (schedule::block(range.trip, part, parts), whole)
        };
        if range.trip == 0 {
            put(p.last, 0);
            put(p.stride, T::narrow(increment));
            return (0, share);
        }
        // Generated code adds the stride to its bounds until it is past the end. A thread with a single chunk steps there at once: the
        // distance of its chunks might wrap in the loop variable's type.
        let alone = chunked && share.count > 0 && i128::from(range.trip - share.first) <= stride;
        let stride = if alone { i128::from(range.trip - share.first) } else { stride };
        let (lower, upper) = match share.count {
            // Clang's code for bounds that a distribute directive gives compares the first iteration with the end of these, not with `upper`.
            0 if chunked => range.behind::<T>(),
            _ => range.bounds(share),
        };
        put(p.last, i32::from(share.last));
        put(p.lower, T::narrow(lower));
        put(p.upper, T::narrow(upper));
        put(p.stride, T::narrow(stride * increment));
        (range.trip, share)
    }
}

macro_rules! static_loops {
    ($($init:ident, $dist:ident, $team:ident, $t:ty, $s:ty;)*) => {$(
        #[doc = "Bounds of this thread's (or, for distribute, this team's) first chunk."]
        #[unsafe(export_name = concat!("dsm_rt_", stringify!($init)))]
        pub unsafe extern "C" fn $init(
            loc: Loc, _gtid: i32, kind: i32, last: *mut i32, lower: *mut $t, upper: *mut $t, stride: *mut $s,
            increment: $s, chunk: $s,
        ) {
            trace::begin_loop(loc);
            let frame = frame::current();
            let sharer = match kind & !code::MODIFIERS {
                code::DISTRIBUTE | code::DISTRIBUTE_CHUNKED => Sharer::team(frame.league.get()),
                _ => Sharer::thread(frame, kind),
            };
            let kind = kind & !code::MODIFIERS;
            let places = Places { last, lower, upper, stride: stride.cast() };
            // SAFETY: as this function's caller promises.
            let (trip, share) = unsafe { share_out(&places, kind, increment.into(), chunk.into(), sharer) };
            work::static_begins(frame, loc, trip, share.first, share.count);
        }

        #[doc = "Distribute and loop in one: the team's share goes to `upper_of_team`, the thread's to the bounds."]
        #[unsafe(export_name = concat!("dsm_rt_", stringify!($dist)))]
        pub unsafe extern "C" fn $dist(
            loc: Loc, _gtid: i32, kind: i32, last: *mut i32, lower: *mut $t, upper: *mut $t,
            upper_of_team: *mut $t, stride: *mut $s, increment: $s, chunk: $s,
        ) {
            trace::begin_loop(loc);
            let frame = frame::current();
            let league = frame.league.get();
            let (mut team_last, mut thread_last) = (0, 0);
            let team = Places { last: &raw mut team_last, lower, upper, stride: std::ptr::null_mut() };
            let thread = Places { last: &raw mut thread_last, lower, upper, stride: stride.cast() };
            // SAFETY: as this function's caller promises.
            unsafe {
                let (trip, share) = share_out(&team, code::DISTRIBUTE, increment.into(), 1, Sharer::team(league));
                put(upper_of_team, get(upper));
                let sharer = Sharer::thread(frame, kind);
                share_out(&thread, kind & !code::MODIFIERS, increment.into(), chunk.into(), sharer);
                put(last, team_last & thread_last);
                work::static_begins(frame, loc, trip, share.first, share.count);
            }
        }

        #[doc = "Chunks of a team in a distribute schedule."]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $team(
            _loc: Loc, _gtid: i32, last: *mut i32, lower: *mut $t, upper: *mut $t, stride: *mut $s,
            increment: $s, chunk: $s,
        ) {
            let league = frame::current().league.get();
            let places = Places { last, lower, upper, stride: stride.cast() };
            // SAFETY: as this function's caller promises.
            unsafe {
                share_out(&places, code::DISTRIBUTE_CHUNKED, increment.into(), chunk.into(), Sharer::team(league));
            }
        }
    )*};
}

static_loops! {
    __kmpc_for_static_init_4, __kmpc_dist_for_static_init_4, __kmpc_team_static_init_4, i32, i32;
    __kmpc_for_static_init_4u, __kmpc_dist_for_static_init_4u, __kmpc_team_static_init_4u, u32, i32;
    __kmpc_for_static_init_8, __kmpc_dist_for_static_init_8, __kmpc_team_static_init_8, i64, i64;
    __kmpc_for_static_init_8u, __kmpc_dist_for_static_init_8u, __kmpc_team_static_init_8u, u64, i64;
}

/// End of a static loop.
#[unsafe(export_name = "dsm_rt___kmpc_for_static_fini")]
pub extern "C" fn __kmpc_for_static_fini(loc: Loc, _gtid: i32) {
    trace::end_loop();
    work::static_ends(loc);
}

/// End of a distribute loop.
#[unsafe(export_name = "dsm_rt___kmpc_distribute_static_fini")]
pub extern "C" fn __kmpc_distribute_static_fini(loc: Loc, _gtid: i32) {
    trace::end_loop();
    work::static_ends(loc);
}

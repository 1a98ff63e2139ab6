//! Control variables as words of a fork message.

use super::frame::Icv;
use crate::config::{Schedule, ScheduleKind};

/// Number of words.
pub const COUNT: usize = 7;

/// To words.
pub fn encode(icv: Icv) -> [u64; COUNT] {
    [
        u64::from(icv.threads),
        u64::from(icv.dynamic),
        u64::from(icv.max_active_levels),
        u64::from(icv.schedule.kind as u32)
            | icv.schedule.monotonic.map_or(0, |on| 1 + u64::from(on)) << 8
            | u64::from(icv.schedule.chunk) << 32,
        u64::from(icv.thread_limit) | u64::from(icv.group) << 32,
        u64::from(icv.device as u32),
        icv.allocator as u64,
    ]
}

/// From words.
pub fn decode(words: &[u64]) -> Icv {
    Icv {
        threads: words[0] as u32,
        dynamic: words[1] != 0,
        max_active_levels: words[2] as u32,
        schedule: Schedule {
            kind: schedule_kind(words[3] as u8 as u32),
            chunk: (words[3] >> 32) as u32,
            monotonic: (words[3] >> 8 & 3).checked_sub(1).map(|on| on != 0),
        },
        thread_limit: words[4] as u32,
        group: (words[4] >> 32) as u32,
        device: words[5] as i32,
        allocator: words[6] as usize,
    }
}

/// The kind with this `omp_sched_t` value; static for unknown ones.
pub fn schedule_kind(code: u32) -> ScheduleKind {
    match code {
        2 => ScheduleKind::Dynamic,
        3 => ScheduleKind::Guided,
        4 => ScheduleKind::Auto,
        _ => ScheduleKind::Static,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let mut icv = Icv::initial();
        icv.threads = 3;
        icv.schedule = Schedule { kind: ScheduleKind::Guided, chunk: 77, monotonic: Some(false) };
        icv.max_active_levels = 4;
        let back = decode(&encode(icv));
        assert_eq!((back.threads, back.schedule, back.max_active_levels), (3, icv.schedule, 4));
    }
}

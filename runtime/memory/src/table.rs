//! The state table: one byte per line, at a fixed address, for the whole user address space.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use dsm_abi::layout::{ADDRESS_BITS, STATE_BASE};
use dsm_abi::state;
use dsm_comm::segment::{MemoryFile, SegmentError, reserve_at};

/// Bytes of the piece that foreign arenas' parts of the table are tiled with.
static TILE_BYTES: AtomicU64 = AtomicU64::new(0);
/// See [`StateTable::restrictions`]. In a cache line of its own: each check of a grid reads it.
static RESTRICTIONS: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(0));
/// Most tiles, about: each is a mapping, of which the system allows a process 65530.
const TILES: usize = 2048;

/// Bytes of the table that [`StateTable::reserve`] has made.
static RESERVED: AtomicUsize = AtomicUsize::new(0);

/// The table for one line size. `Copy`: it is an address.
#[derive(Clone, Copy, Debug)]
pub struct StateTable {
    line_shift: u32,
}

impl StateTable {
    /// Reserves the table for addresses of so many bits; every state is `WRITABLE`. One that was reserved for the same before is kept, another one goes.
    pub fn reserve(line_shift: u32, address_bits: u32) -> Result<StateTable, SegmentError> {
        let bytes = Self::bytes(line_shift, address_bits);
        let before = RESERVED.swap(0, Ordering::Relaxed);
        if before != bytes {
            if before != 0 {
                // SAFETY: the table that was reserved, of which nobody has an address.
                unsafe { libc::munmap(STATE_BASE as usize as *mut libc::c_void, before) };
            }
            // Vectorised checks read the states of eight lines at once, the last ones over the end.
            reserve_at(STATE_BASE as usize, bytes)?;
        }
        RESERVED.store(bytes, Ordering::Relaxed);
        Ok(StateTable { line_shift })
    }

    fn bytes(line_shift: u32, address_bits: u32) -> usize {
        (1 << (address_bits - line_shift)) + 4096
    }

    /// Where the table lies, if it has its full size.
    pub fn addresses(self) -> Range<usize> {
        let start = STATE_BASE as usize;
        start..start + Self::bytes(self.line_shift, ADDRESS_BITS)
    }

    #[inline]
    fn byte(self, address: usize) -> *mut u8 {
        (STATE_BASE as usize + (address >> self.line_shift)) as *mut u8
    }

    /// State of the line that holds `address`.
    #[inline]
    pub fn get(self, address: usize) -> u8 {
        // SAFETY: user addresses are below 2^47, so the byte is in the table, which is mapped for good and accessed atomically.
        unsafe { AtomicU8::from_ptr(self.byte(address)) }.load(Ordering::Acquire)
    }

    /// How often states have been set that may allow less than those before. What was found valid after a look at this number is as good as found valid now while it stays the same:
    /// a thread that sets such states counts them before it lets others know of the synchronisation that wants them.
    #[inline]
    pub fn restrictions(self) -> u64 {
        RESTRICTIONS.load(Ordering::Acquire)
    }

    /// States have been set that may allow less than those before. Not before they are set: who looks at the number in between would take the old ones for valid.
    #[inline]
    pub fn count_restriction(self) {
        RESTRICTIONS.fetch_add(1, Ordering::SeqCst);
    }

    /// Sets the states of the lines of `[address, address + bytes)`, which are whole lines, after everything that came before.
    #[inline]
    pub fn set(self, address: usize, bytes: usize, value: u8) {
        let (first, count) = (self.byte(address), bytes >> self.line_shift);
        if count == 1 {
            // SAFETY: in the table, see `get`.
            unsafe { AtomicU8::from_ptr(first) }.store(value, Ordering::Release);
            return;
        }
        let mut line = 0;
        // Eight at once where they are a word: readers see single bytes, each of them old or new.
        let eight = u64::from_ne_bytes([value; 8]);
        while line < count {
            // SAFETY: `line` is below `count`, and these lines' bytes are in the table, see `get`; words are only stored where aligned and inside.
            unsafe {
                let byte = first.add(line);
                if byte.addr().is_multiple_of(8) && line + 8 <= count {
                    AtomicU64::from_ptr(byte.cast()).store(eight, Ordering::Release);
                    line += 8;
                } else {
                    AtomicU8::from_ptr(byte).store(value, Ordering::Release);
                    line += 1;
                }
            }
        }
    }

    /// Whether a line of `[address, address + bytes)`, which are whole lines, has a state below `limit`.
    #[inline]
    pub fn any_below(self, address: usize, bytes: usize, limit: u8) -> bool {
        let (first, count) = (self.byte(address), bytes >> self.line_shift);
        // SAFETY: in the table, see `get`.
        (0..count).any(|line| unsafe { AtomicU8::from_ptr(first.add(line)) }.load(Ordering::Relaxed) < limit)
    }

    /// Number of lines from the one that holds `address` on that share its state, at most as many as `bytes` has.
    #[inline]
    pub fn run(self, address: usize, bytes: usize) -> usize {
        let (first, count) = (self.byte(address), bytes >> self.line_shift);
        let state = self.get(address);
        let eight = u64::from_ne_bytes([state; 8]);
        let mut line = 0;
        while line < count {
            // SAFETY: as in `set`.
            unsafe {
                let byte = first.add(line);
                if byte.addr().is_multiple_of(8)
                    && line + 8 <= count
                    && AtomicU64::from_ptr(byte.cast()).load(Ordering::Acquire) == eight
                {
                    line += 8;
                } else if AtomicU8::from_ptr(byte).load(Ordering::Acquire) == state {
                    line += 1;
                } else {
                    break;
                }
            }
        }
        line.max(1)
    }

    /// Address of the first line in `[from, to]` whose state is at or above `limit`.
    #[inline]
    pub fn first_at_least(self, from: usize, to: usize, limit: u8) -> Option<usize> {
        let (first, last) = (from >> self.line_shift, to >> self.line_shift);
        // A state at or above `limit` has a bit set at or above the limit's highest bit. The mask keeps these bits: it finds
        // every line sought, and only those if `limit` is a power of two; others are ruled out below.
        let Some(highest) = limit.checked_ilog2() else { return Some(first << self.line_shift) };
        let mask = u64::from_ne_bytes([u8::MAX << highest; 8]);
        // Of the first word, the bytes from the first line on.
        let mut inside = u64::MAX << (first % 8 * 8);
        for word in first / 8..=last / 8 {
            if word == last / 8 {
                inside &= u64::MAX >> ((7 - last % 8) * 8);
            }
            // SAFETY: eight bytes of the table, aligned (its base is a multiple of 8), read as one word: writers store
            // single bytes, and any mix of old and new states is a correct answer at some moment.
            let eight = unsafe { (STATE_BASE as usize as *const u64).add(word).read_volatile() };
            let mut above = (eight & mask).to_le() & inside;
            while above != 0 {
                let byte = above.trailing_zeros() as usize / 8;
                let line = 8 * word + byte;
                if self.get(line << self.line_shift) >= limit {
                    std::sync::atomic::fence(Ordering::Acquire);
                    return Some(line << self.line_shift);
                }
                above &= !(0xff << (8 * byte));
            }
            inside = u64::MAX;
        }
        std::sync::atomic::fence(Ordering::Acquire);
        None
    }

    /// Whether the states of all lines of `[address, address + bytes)` are below `limit`; `false` of what reaches out of the table.
    #[inline]
    pub fn are_below(self, address: usize, bytes: usize, limit: u8) -> bool {
        let last = address.wrapping_add(bytes - 1);
        if last < address || last >> ADDRESS_BITS != 0 {
            return false;
        }
        match (last >> self.line_shift) - (address >> self.line_shift) {
            0 => self.get(address) < limit,
            1 => self.get(address) < limit && self.get(last) < limit,
            _ => self.first_at_least(address, last, limit).is_none(),
        }
    }

    /// Memory that the states of these addresses take in this process, bytes.
    pub fn resident_bytes(self, ranges: &[Range<usize>]) -> u64 {
        let ours = |from: usize, to: usize| {
            ranges.iter().any(|r| from < self.byte(r.end) as usize && to > self.byte(r.start) as usize)
        };
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let (mut inside, mut bytes) = (false, TILE_BYTES.load(Ordering::Relaxed));
        for line in maps.lines() {
            let address = |text: &str| usize::from_str_radix(text, 16).ok();
            let head = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((from, to)) = head.and_then(|(a, b)| Some((address(a)?, address(b)?))) {
                inside = ours(from, to);
            } else if let Some(kilobytes) = line.strip_prefix("Anonymous:").filter(|_| inside) {
                let number = kilobytes.trim().trim_end_matches(" kB").parse::<u64>();
                bytes += number.unwrap_or(0) * 1024;
            }
        }
        bytes
    }

    /// Makes all lines of the ranges cold. They are whole pages of the table: tiles of one small file, copied when first written.
    pub fn fill_cold(self, ranges: &[Range<usize>]) -> Result<(), SegmentError> {
        let tile = MemoryFile::create("dsm-cold")?;
        let bytes: usize = ranges.iter().map(|r| r.len() >> self.line_shift).sum();
        if bytes == 0 {
            return Ok(());
        }
        let tile_bytes = (1 << (bytes / TILES).max(1).ilog2()).clamp(1 << 16, 4 << 20);
        TILE_BYTES.store(tile_bytes as u64, Ordering::Relaxed);
        Self::fill_tile(&tile, tile_bytes)?;
        for range in ranges {
            let mut at = self.byte(range.start) as usize;
            let end = self.byte(range.end) as usize;
            // Pages that the range shares with its neighbours are written, whole ones are mapped.
            let (head, tail) = (at.next_multiple_of(4096).min(end), end & !4095);
            self.store_cold(at..head);
            at = head;
            while at < tail {
                let bytes = tile_bytes.min(tail - at);
                // SAFETY: the range is part of the state table, which is ours, and no other thread runs yet.
                let mapped = unsafe { tile.map_private_at(at, bytes, 0)? };
                debug_assert_eq!(mapped as usize, at);
                at += bytes;
            }
            self.store_cold(at..end);
        }
        Ok(())
    }

    fn fill_tile(tile: &MemoryFile, bytes: usize) -> Result<(), SegmentError> {
        use std::io::Write;
        let copy = tile.as_fd().try_clone_to_owned().map_err(SegmentError::Create)?;
        std::fs::File::from(copy)
            .write_all(&vec![state::COLD; bytes])
            .map_err(|source| SegmentError::Size { bytes: bytes as u64, source })
    }

    fn store_cold(self, bytes: Range<usize>) {
        for at in bytes {
            // SAFETY: in the table.
            unsafe { AtomicU8::from_ptr(at as *mut u8) }.store(state::COLD, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_at_a_limit_is_what_a_look_at_each_byte_finds() {
        const SHIFT: u32 = 12;
        const LINES: usize = 48;
        let table = StateTable::reserve(SHIFT, 24).expect("nothing else is there");
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for limit in 0..=u8::MAX {
            for round in 0..200 {
                // Mostly states below the limit, in some tables all of them, in some close to it, in some states that there are.
                let low = [u64::from(limit).max(1), 2, 1][round % 3];
                let high = if round % 2 == 0 { 256 } else { 6 };
                let rarely = [4, 16, 1000][round / 3 % 3];
                let states: Vec<u8> = (0..LINES)
                    .map(|_| if random(rarely) == 0 { random(high) } else { random(low) } as u8)
                    .collect();
                for (line, state) in states.iter().enumerate() {
                    table.set(line << SHIFT, 1 << SHIFT, *state);
                }
                let from = random(LINES as u64) as usize;
                let to = from + random((LINES - from) as u64) as usize;
                let expected = (from..=to).find(|line| states[*line] >= limit).map(|line| line << SHIFT);
                let found = table.first_at_least((from << SHIFT) + 5, (to << SHIFT) + 77, limit);
                assert_eq!(found, expected, "limit {limit}, lines {from} to {to} of {states:?}");
            }
        }
    }
}

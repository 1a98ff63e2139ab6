//! What arrays need of the communication layer.

use std::future::Future;

use crate::fault::Fault;

/// Number of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

/// The areas of all processes, and memory of the program. Offsets are those of the area and inside it; words are aligned, and their operations sequentially consistent. What a
/// thread does one after the other, copies included, happens in this order.
pub trait Memory {
    /// Memory of the program that elements are copied to or from.
    type Buffer;

    /// This process.
    fn rank(&self) -> Rank;
    /// Number of processes.
    fn processes(&self) -> u32;
    /// Bytes of an area.
    fn area_bytes(&self) -> usize;
    /// Whether a process's pages are reached by [`Memory::ask`].
    fn asks(&self, at: Rank) -> bool;
    /// Whether places are remembered.
    fn caches(&self) -> bool {
        true
    }

    /// Reads a word.
    fn load(&self, at: Rank, offset: usize) -> impl Future<Output = u64>;
    /// Reads words, each for itself.
    fn load_words(&self, at: Rank, offset: usize, into: &mut [u64]) -> impl Future<Output = ()>;
    /// Writes a word.
    fn store(&self, at: Rank, offset: usize, value: u64) -> impl Future<Output = ()>;
    /// Writes words, each for itself.
    fn store_words(&self, at: Rank, offset: usize, words: &[u64]) -> impl Future<Output = ()>;
    /// Puts `new` in the place of `expected`; returns the value found.
    fn compare_exchange(&self, at: Rank, offset: usize, expected: u64, new: u64)
    -> impl Future<Output = u64>;

    /// Copies from an area to memory of the program, from its byte `to` on. What races may be torn.
    fn copy_out(
        &self,
        at: Rank,
        offset: usize,
        into: &Self::Buffer,
        to: usize,
        bytes: usize,
    ) -> impl Future<Output = ()>;
    /// Copies from memory of the program, from its byte `from` on, to an area.
    fn copy_in(
        &self,
        at: Rank,
        offset: usize,
        source: &Self::Buffer,
        from: usize,
        bytes: usize,
    ) -> impl Future<Output = ()>;
    /// Copies from the area of another process to the same place in the own one.
    fn fetch(&self, at: Rank, offset: usize, bytes: usize) -> impl Future<Output = ()>;
    /// Copies from the own area to a message.
    fn read_own(&self, offset: usize, into: &mut [u8]) -> impl Future<Output = ()>;
    /// Copies from a message to the own area.
    fn write_own(&self, offset: usize, contents: &[u8]) -> impl Future<Output = ()>;
    /// Gives the memory of a range, as far as it has whole pages of the system, back: it may be zero from now on.
    fn give_back(&self, at: Rank, offset: usize, bytes: usize) -> impl Future<Output = ()>;

    /// Copies from memory of the program to a message.
    fn take(&self, source: &Self::Buffer, from: usize, into: &mut [u8]);
    /// Copies from a message to memory of the program.
    fn give(&self, into: &Self::Buffer, to: usize, contents: &[u8]);
    /// Writes zeros to memory of the program.
    fn clear(&self, into: &Self::Buffer, to: usize, bytes: usize);

    /// Has another process execute a request by [`crate::call::serve`]; returns the length of the reply.
    fn ask(&self, at: Rank, request: &[u8], reply: &mut [u8]) -> impl Future<Output = usize>;
    /// Lets others go on, before the next of several attempts at something that they are in the way of.
    fn pause(&self, attempt: u32) -> impl Future<Output = ()>;

    /// Whether to break a rule. For explorers.
    fn fault(&self, _fault: Fault) -> bool {
        false
    }
}

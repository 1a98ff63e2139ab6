//! The arrays that there are: a table in each area, all alike, which whoever creates or destroys an array changes with the lock at process 0.
//!
//! A descriptor is a state word and the shape. The state counts the arrays that the descriptor was used for, and says in its lowest bit whether there is one now: a handle with an older
//! state is of an array that is gone.

use std::ops::Range;

use crate::access::Arrays;
use crate::array::{Array, BadShape, SHAPE_WORDS};
use crate::memory::{Memory, Rank};

/// Most arrays at a time.
pub const MOST: u32 = 1023;
/// Bytes of the table.
pub const BYTES: usize = (MOST as usize + 1) * DESCRIPTOR_BYTES;

const DESCRIPTOR_BYTES: usize = 128;
const LOCK: usize = 0;
const LIVE: u64 = 1;

/// Why no array was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreationError {
    /// There can be none of this shape.
    Shape(BadShape),
    /// There are [`MOST`] arrays.
    TooMany,
    /// The arrays that there are leave no space.
    NoSpace,
}

/// Offset of a descriptor: state, then shape.
pub fn descriptor(index: u32) -> usize {
    (index as usize + 1) * DESCRIPTOR_BYTES
}

#[inline]
async fn read<M: Memory>(memory: &M, index: u32) -> (u64, [u64; SHAPE_WORDS]) {
    let mut words = [0; SHAPE_WORDS + 1];
    memory.load_words(memory.rank(), descriptor(index), &mut words).await;
    let [state, shape @ ..] = words;
    (state, shape)
}

/// The array of this number, if there is one.
#[inline]
pub async fn find<M: Memory>(memory: &M, index: u32) -> Option<Array> {
    if index >= MOST {
        return None;
    }
    let (state, shape) = read(memory, index).await;
    (state & LIVE != 0).then(|| Array::from_shape((index, state), shape))
}

impl<M: Memory> Arrays<M> {
    /// Creates an array.
    ///
    /// # Errors
    /// There is none of this shape, or no space.
    pub async fn create(
        &self,
        count: u64,
        element_bytes: u64,
        page_bytes: u64,
    ) -> Result<Array, CreationError> {
        let memory = &self.memory;
        let shape =
            |identity, base| Array::new(identity, count, element_bytes, page_bytes, memory.processes(), base);
        let wanted = shape((0, 0), 0).map_err(CreationError::Shape)?;
        let available = memory.area_bytes() - BYTES;
        if wanted.range().len() > available {
            return Err(CreationError::Shape(BadShape::TooLarge));
        }
        self.lock().await;
        let created = match self.find_space(wanted.range().len()).await {
            Ok((identity, base)) => {
                let array = shape(identity, base).expect("only the place is another one");
                for rank in 0..memory.processes() {
                    memory.store_words(Rank(rank), descriptor(array.index) + 8, &array.shape()).await;
                    memory.store(Rank(rank), descriptor(array.index), array.state).await;
                }
                Ok(array)
            }
            Err(error) => Err(error),
        };
        self.unlock().await;
        created
    }

    /// Destroys an array that nobody uses any more; `false` if it is gone already.
    pub async fn destroy(&self, array: &Array) -> bool {
        let memory = &self.memory;
        self.lock().await;
        let is_there = find(memory, array.index).await.is_some_and(|found| found.state == array.state);
        if is_there {
            for rank in 0..memory.processes() {
                memory.store(Rank(rank), descriptor(array.index), array.state & !LIVE).await;
            }
            for rank in 0..memory.processes() {
                self.give_back(Rank(rank), array).await;
            }
        }
        self.unlock().await;
        is_there
    }

    /// A free descriptor and space for so many bytes: the first that there is. The table is locked.
    async fn find_space(&self, bytes: usize) -> Result<((u32, u64), usize), CreationError> {
        let mut free = None;
        let mut taken: Vec<Range<usize>> = Vec::new();
        for index in 0..MOST {
            let (state, shape) = read(&self.memory, index).await;
            if state & LIVE != 0 {
                taken.push(Array::from_shape((index, state), shape).range());
            } else if free.is_none() {
                free = Some((index, (state | LIVE) + 2));
            }
        }
        let identity = free.ok_or(CreationError::TooMany)?;
        taken.sort_unstable_by_key(|range| range.start);
        let mut base = BYTES;
        for range in taken {
            if range.start - base >= bytes {
                break;
            }
            base = range.end;
        }
        if self.memory.area_bytes() - base < bytes {
            return Err(CreationError::NoSpace);
        }
        Ok((identity, base))
    }

    async fn lock(&self) {
        let holder = u64::from(self.memory.rank().0) + 1;
        let mut attempt = 0;
        while self.memory.compare_exchange(Rank(0), LOCK, 0, holder).await != 0 {
            self.memory.pause(attempt).await;
            attempt += 1;
        }
    }

    async fn unlock(&self) {
        self.memory.store(Rank(0), LOCK, 0).await;
    }
}

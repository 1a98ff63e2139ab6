//! The memory the program sees: shared globals, heap arenas, shared stacks, and the state table over all of it.
//!
//! In a job of several processes each keeps its copy of the shared data in a segment of its own, mapped at the same addresses everywhere
//! and, as views, into its peers. A single process has plain private memory and no coherence at all.

pub mod biased_lock;
pub mod dump;
pub mod executable;
pub mod fabric;
pub mod huge;
pub mod paging;
pub mod private_range;
pub mod protection;
pub mod rules;
pub mod services;
pub mod table;
pub mod threads;
pub mod twins;

use dsm_config as config;
use dsm_control as control;
use dsm_job::{self as job, image};
use dsm_observe::{checked, profile, race, time, trace};

pub use dsm_geometry::{self as geometry, blocks};

use std::ops::Range;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use dsm_abi::job::ADDRESSES_WORD;
use dsm_abi::layout::{
    ADDRESS_BITS, COMPACT_ADDRESS_BITS, COMPACT_BASE, COMPACT_END, SHARED_BASE, SHARED_END,
};
use dsm_abi::note::Checking;
use dsm_coherence::Coherence;
use dsm_comm::ofi::{self, OfiError};
use dsm_comm::requests::{Requests, Service, Spawn};
use dsm_comm::segment::{MemoryFile, SegmentError, reserve_at};
use dsm_comm::stream::{self, Peer};
use dsm_comm::verbs::{self, VerbsError};
use dsm_comm::{Own, Segments};
use dsm_threads::futex;

use crate::config::Transport;
use crate::fabric::{SegmentFabric, calls};
use crate::job::{Job, JobPage, Reach, child};
use dsm_threads::handler::Deferred;
use geometry::{Geometry, PAGE, Shape};
use paging::PagingError;
use rules::Rules;
use table::StateTable;
use twins::TwinPages;

/// What exists once memory is set up.
pub struct Memory {
    geometry: &'static Geometry,
    table: StateTable,
    rank: u32,
    checking: Checking,
    rules: Rules,
    shared: Option<Shared>,
    /// The data of a single process whose memory is limited.
    paged: Option<(Segments, MemoryFile)>,
}

/// What a job of several processes has in addition.
pub struct Shared {
    /// All segments.
    pub segments: Segments,
    /// The protocol.
    pub coherence: Coherence<SegmentFabric>,
    /// Memory of the twins.
    pub twins: TwinPages,
    own_file: &'static MemoryFile,
    /// The memory files of this host's processes, by rank.
    files: &'static [Option<MemoryFile>],
}

static MEMORY: OnceLock<Memory> = OnceLock::new();

/// What this process shares with others, once it has set that up.
pub fn wait_shared() -> &'static Shared {
    MEMORY.wait().shared.as_ref().expect("a process with peers shares memory")
}

/// Why memory could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// Sizes that do not fit.
    #[error("{0}")]
    Layout(String),
    /// The processes differ.
    #[error(
        "process {0} has the globals of the program and its libraries at other addresses than another process; all must load \
         the same libraries (LD_PRELOAD, LD_LIBRARY_PATH), without address space randomisation"
    )]
    Addresses(u32),
    /// The system refused memory.
    #[error("{0}; address space may be limited (ulimit -v, vm.overcommit_memory)")]
    Segment(#[from] SegmentError),
    /// There is no fabric.
    #[error(transparent)]
    Ofi(#[from] OfiError),
    /// There is no RDMA.
    #[error(transparent)]
    Verbs(#[from] VerbsError),
    /// Memory cannot be limited.
    #[error(transparent)]
    Paging(#[from] PagingError),
}

/// Sets up the memory of this process; once, before any instrumented code runs. Returns when all processes of the job have done so.
pub fn init(job: &Job) -> Result<(), MemoryError> {
    let line_shift = image::line_shift().map_err(MemoryError::Layout)?;
    let checking = protection::checking(line_shift).map_err(MemoryError::Layout)?;
    let config = config::get();
    let (table, region) = place(job, line_shift)?;
    let line_bytes = 1 << line_shift;
    let block_bytes = config.block_bytes.max(line_bytes);
    if block_bytes != config.block_bytes && job.rank == 0 {
        eprintln!(
            "dsm: warning: DSM_BLOCK={} is less than the line of {line_bytes} bytes that the program was compiled for; using {line_bytes}; \
             compile with -fdsm-line={} for smaller blocks",
            config.block_bytes, config.block_bytes
        );
    }
    let rules = match config.block_file.as_str() {
        "" => Rules::default(),
        path => Rules::read(path, line_bytes).map_err(MemoryError::Layout)?,
    };
    let geometry = Geometry::new(Shape {
        processes: job.size,
        line_shift,
        block_bytes,
        globals: image::all().iter().map(|image| image.globals()).collect(),
        region,
        arena_bytes: config.heap_bytes,
        heap_blocks: rules.heap_blocks(block_bytes),
        stack_bytes: config.stack_bytes,
        stacks: config::MAX_THREADS as usize,
        notices: config.notices,
        twin_pool_pages: twins::pool_pages(job.size),
        observed: dsm_observe::memory::space(job.size),
        paged: paging::limit().is_some(),
    })
    .map_err(MemoryError::Layout)?;
    let geometry: &'static Geometry = Box::leak(Box::new(geometry));
    apply_symbols(&rules, geometry, job.rank);
    let (mut shared, mut paged) = (None, None);
    if job.size > 1 {
        shared = Some(share(job, geometry, table)?);
    } else if geometry.is_paged() {
        paged = Some(map_single_process(geometry)?);
    } else {
        let region = geometry.region();
        reserve_at(region.start, region.len())?;
    }
    executable::like_the_stack(&geometry.region());
    let memory = Memory { geometry, table, rank: job.rank, checking, rules, shared, paged };
    memory.leave_out_of_core();
    assert!(MEMORY.set(memory).is_ok(), "memory is set up once");
    Ok(())
}

/// Makes all states valid, for functions of the program that run before [`init`], which finds again what the system refuses.
pub fn make_all_valid() {
    let _ = StateTable::reserve(image::program_line_shift(), ADDRESS_BITS);
}

/// The state table and the place for heap and stacks: of full size, or, under a tool that confines a program to few
/// address bits, a small one for a process that is alone.
fn place(job: &Job, line_shift: u32) -> Result<(StateTable, Range<usize>), MemoryError> {
    let refused = match StateTable::reserve(line_shift, ADDRESS_BITS) {
        Ok(table) => return Ok((table, SHARED_BASE as usize..SHARED_END as usize)),
        Err(refused) => refused,
    };
    // The stack is the highest mapping of a process.
    let confined = (&raw const refused as usize) >> COMPACT_ADDRESS_BITS == 0;
    if job.size > 1 || !confined {
        return Err(refused.into());
    }
    let table = StateTable::reserve(line_shift, COMPACT_ADDRESS_BITS)?;
    Ok((table, COMPACT_BASE as usize..COMPACT_END as usize))
}

/// Gives variables the block sizes that the rules name. No process has copies yet.
fn apply_symbols(rules: &Rules, geometry: &Geometry, rank: u32) {
    for (name, bytes, line) in &rules.symbols {
        let mut found = false;
        for v in image::variables().iter().filter(|v| v.name == *name) {
            geometry.set_blocks(v.address..v.address + v.bytes, *bytes);
            found = true;
        }
        if !found && rank == 0 {
            let why = match image::variables() {
                [] => "the program has no symbol table; link it without -s, and do not strip it",
                _ => "no shared global variable has this name; `nm` lists the names",
            };
            eprintln!("dsm: warning: {}:{line}: symbol {name}: {why}; the rule is ignored", rules.path);
        }
    }
}

fn share(job: &Job, geometry: &'static Geometry, table: StateTable) -> Result<Shared, MemoryError> {
    let (files, peers) = open_segments(job);
    // For the life of the process.
    let files: &'static [Option<MemoryFile>] = files.leak();
    calls::register(paging::copies::TAG, paging::copies::serve);
    agree(job, geometry)?;
    let own_file = files[job.rank as usize].as_ref().expect("the own segment is a file");
    own_file.set_size(geometry.segment_bytes() as u64)?;
    wait_for_segments(job);
    let segments = reach(job, files, peers, geometry)?;
    map_data(own_file, geometry, segments.own())?;
    let mut cold = Vec::new();
    if job.rank != 0 {
        cold.extend(geometry.globals().ranges());
    }
    for rank in (0..job.size).filter(|r| *r != job.rank) {
        cold.extend([geometry.arena(rank), geometry.stacks(rank)]);
    }
    cold.retain(|range| !range.is_empty());
    table.fill_cold(&cold)?;
    control::init(segments, geometry.control_offset());
    let fabric = SegmentFabric::new(geometry, table, segments, files, job.rank);
    let coherence = Coherence::new(fabric, config::get().notices);
    if race::is_on() && job.rank == 0 {
        for range in geometry.globals().ranges() {
            coherence.watch(geometry.extents(range.start, range.end - 1));
        }
    }
    Ok(Shared { segments, coherence, twins: TwinPages::new(geometry, segments), own_file, files })
}

/// Maps the own segment where the program has its data.
fn map_data(own_file: &MemoryFile, geometry: &Geometry, own: Own) -> Result<(), SegmentError> {
    let region = geometry.region();
    reserve_at(region.start, region.len())?;
    // SAFETY: replaces the reservation just made.
    unsafe { own_file.map_at(region.start, region.len(), geometry.region_offset() as u64)? };
    share_globals(own_file, geometry, own)
}

/// The data of a single process as a memory file.
fn map_single_process(geometry: &Geometry) -> Result<(Segments, MemoryFile), SegmentError> {
    let file = MemoryFile::create("dsm-data")?;
    file.set_size(geometry.segment_bytes() as u64)?;
    let files = [Some(file)];
    // SAFETY: the segments' address range is reserved by the layout, and the file has its size.
    let segments = unsafe { Segments::map(&files, 0, geometry.view_base(), geometry.segment_bytes())? };
    let [Some(file)] = files else { unreachable!("the file is there") };
    map_data(&file, geometry, segments.own())?;
    Ok((segments, file))
}

/// Starts the pager, if memory is limited. Once threads may be started, and before any user code runs.
///
/// # Errors
/// The pager cannot be started: see [`PagingError`].
pub fn start_paging() -> Result<(), MemoryError> {
    let memory = get();
    let (segments, file) = match (&memory.shared, &memory.paged) {
        (Some(shared), _) => (shared.segments, shared.own_file),
        (None, Some((segments, file))) => (*segments, file),
        (None, None) => return Ok(()),
    };
    Ok(paging::start(memory.geometry, segments, (file, memory.shared.as_ref()), memory.rank)?)
}

/// The memory files and the sockets that the segments are reached by, of each rank one of the two.
fn open_segments(job: &Job) -> (Vec<Option<MemoryFile>>, Vec<Option<Peer>>) {
    // SAFETY: the launcher handed these descriptors to this process, and nothing else in it uses them.
    let own = |fd| unsafe { OwnedFd::from_raw_fd(fd) };
    let open = |reach: &Reach| match *reach {
        Reach::File(fd) => (Some(MemoryFile::from_fd(own(fd))), None),
        Reach::Sockets(all) => {
            let [requests, serves, waits, serves_waits] = all.map(own);
            (None, Some(Peer { requests, serves, waits, serves_waits }))
        }
    };
    job.segments.iter().map(open).unzip()
}

/// Maps the segments that can be mapped, and connects to the peers that have the others.
fn reach(
    job: &Job,
    files: &[Option<MemoryFile>],
    peers: Vec<Option<Peer>>,
    geometry: &Geometry,
) -> Result<Segments, MemoryError> {
    let (base, bytes) = (geometry.view_base(), geometry.segment_bytes());
    // SAFETY: the segments' address range is reserved by the layout, and all files have their size now.
    let segments = unsafe { Segments::map(files, job.rank, base, bytes)? };
    if peers.iter().all(Option::is_none) {
        return Ok(segments);
    }
    // A pager takes pages away, which an adapter would go on to read.
    let is_one_sided = fabric::ring_entries(geometry) != 0;
    let reads = is_one_sided || config::get().bulk_read && !geometry.is_paged();
    let (carrier, seed) = match &config::get().transport {
        Transport::Ofi { provider, .. } => (ofi::carrier(job.rank, peers, provider, reads)?, None),
        Transport::Verbs { device, .. } if is_one_sided => {
            (verbs::one_sided_carrier(job.rank, peers, device)?, None)
        }
        Transport::Verbs { device, .. } => (verbs::carrier(job.rank, peers, device, reads)?, None),
        Transport::Stream(seed) => (stream::carrier(job.rank, peers, *seed), *seed),
        Transport::Auto | Transport::Shm => (stream::carrier(job.rank, peers, None), None),
    };
    let spawn: Spawn = &|name, serve| services::spawn(name, serve);
    let own = segments.own().address(0);
    // Nothing of the data, nor of the records, is ever given back to the system, as twins and arrays are.
    let (data, metadata) = geometry.data_and_metadata();
    let readable = [if reads { data } else { 0..0 }, if is_one_sided { metadata } else { 0..0 }];
    let writable = if is_one_sided { fabric::rings(geometry) } else { 0..0 };
    let service = Service { identity: digest(geometry), calls: &calls::serve, readable, writable };
    // SAFETY: the segment has so many bytes there, mapped for good.
    let requests = unsafe { Requests::start(job.rank, carrier, own, bytes, service, seed, spawn) };
    let section = |body: &mut dyn FnMut()| {
        // The connections are its parent's.
        child::assert_of_job();
        let _deferred = Deferred::begin();
        body();
    };
    // SAFETY: the requests reach all that have no file; nothing is mapped at their addresses.
    unsafe { segments.connect(job.mapped(), Box::new(requests), section) };
    Ok(segments)
}

/// Replaces the shared globals by a mapping of the segment with the same contents.
fn share_globals(own: &MemoryFile, geometry: &Geometry, segment: Own) -> Result<(), SegmentError> {
    for (range, offset) in geometry.globals().placed() {
        for at in (0..range.len()).step_by(PAGE) {
            let bytes = PAGE.min(range.len() - at);
            // SAFETY: both ranges are mapped for `len` bytes and distinct; no other thread runs yet.
            unsafe {
                let page = std::slice::from_raw_parts((range.start + at) as *const u8, bytes);
                // Pages of zeros take no memory before they are touched.
                if page != &[0; PAGE][..bytes] {
                    std::ptr::copy_nonoverlapping(page.as_ptr(), segment.address(offset + at), bytes);
                }
            }
        }
        // SAFETY: the linker script keeps everything else out of these pages, and the contents stay the same.
        unsafe { own.map_at(range.start, range.len(), offset as u64)? };
    }
    Ok(())
}

/// A digest, not 0, of what all processes of a job have alike: addresses of globals, sizes of lines, blocks and segments, places of control words.
fn digest(geometry: &Geometry) -> u64 {
    let ends = geometry.globals().ranges().flat_map(|range| [range.start, range.end]);
    let sizes =
        [1 << geometry.line_shift(), config::get().block_bytes, geometry.segment_bytes(), control::digest()];
    // Who does not empty rings must have nobody that fills them.
    let sizes = sizes.into_iter().chain([fabric::ring_entries(geometry) as usize]);
    // FNV-1a.
    let digest = ends.chain(sizes).fold(0xcbf2_9ce4_8422_2325, |hash: u64, value| {
        value
            .to_le_bytes()
            .iter()
            .fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    });
    digest.max(1)
}

/// Compares the [`digest`] with the first process's of this host.
fn agree(job: &Job, geometry: &Geometry) -> Result<(), MemoryError> {
    let digest = digest(geometry);
    let digest = ((digest >> 32) as u32 ^ digest as u32).max(1);
    let first = JobPage::get().word(ADDRESSES_WORD);
    match first.compare_exchange(0, digest, Ordering::SeqCst, Ordering::SeqCst) {
        Err(other) if other != digest => Err(MemoryError::Addresses(job.rank)),
        _ => Ok(()),
    }
}

/// Compares the [`digest`] with those of processes whose memory is not mapped. Once all of them serve requests.
///
/// # Errors
/// One has another digest.
pub fn compare_with_peers(job: &Job) -> Result<(), MemoryError> {
    let Some(shared) = shared() else { return Ok(()) };
    let own = digest(get().geometry());
    let differs = |rank: &u32| shared.segments.identity(*rank).is_some_and(|identity| identity != own);
    match (0..job.rank).find(differs) {
        Some(_) => Err(MemoryError::Addresses(job.rank)),
        None => Ok(()),
    }
}

/// Waits until every process whose segment this one maps has sized it.
fn wait_for_segments(job: &Job) {
    let ready = JobPage::get().ready();
    ready.fetch_add(1, Ordering::SeqCst);
    futex::wake(ready, futex::ALL);
    loop {
        let seen = ready.load(Ordering::SeqCst);
        if seen >= job.mapped().len() as u32 {
            return;
        }
        futex::wait(ready, seen, futex::ALL);
    }
}

/// Turns this process's shared memory into a private copy: it is a child that `fork` made.
pub fn detach() -> Result<(), SegmentError> {
    let Some(Memory { geometry, shared: Some(shared), .. }) = MEMORY.get() else { return Ok(()) };
    let region = (geometry.region(), geometry.region_offset());
    for (range, offset) in geometry.globals().placed().chain([region]) {
        // SAFETY: the range is a mapping of the same part of the same file; its contents stay the same.
        unsafe { shared.own_file.map_private_at(range.start, range.len(), offset as u64)? };
    }
    executable::like_the_stack(&geometry.region());
    Ok(())
}

/// Whether [`init`] is done, and [`get`] may be called: constructors of libraries run before.
#[inline]
pub fn is_set_up() -> bool {
    set_up().is_some()
}

/// The memory, once it is set up.
#[inline]
pub fn set_up() -> Option<&'static Memory> {
    MEMORY.get()
}

/// The memory. Must come after [`init`].
#[inline]
pub fn get() -> &'static Memory {
    MEMORY.get().expect("memory is set up before any user code runs")
}

/// What a job of several processes has; `None` in a single process, and before memory is set up.
#[inline]
pub fn shared() -> Option<&'static Shared> {
    set_up()?.shared()
}

impl Memory {
    /// Layout.
    #[inline]
    pub fn geometry(&self) -> &'static Geometry {
        self.geometry
    }

    /// As [`shared`].
    #[inline]
    pub fn shared(&self) -> Option<&Shared> {
        self.shared.as_ref()
    }

    /// State table.
    #[inline]
    pub fn table(&self) -> StateTable {
        self.table
    }

    /// How accesses are checked.
    #[inline]
    pub fn checking(&self) -> Checking {
        self.checking
    }

    /// Block sizes of single allocations.
    #[inline]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// This process's number.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.rank
    }
}

impl Shared {
    /// Memory that this process's segment takes, metadata and twins included, bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.own_file.resident_bytes()
    }

    /// Memory that the program's data takes in this process, and what the protocol knows of its blocks, states included; bytes.
    pub fn data_and_metadata_bytes(&self) -> (u64, u64) {
        let memory = get();
        let geometry = memory.geometry();
        let (data, metadata) = geometry.data_and_metadata();
        let states = memory.table.resident_bytes(&geometry.parts().collect::<Vec<_>>());
        (self.own_file.resident_bytes_of(data), self.own_file.resident_bytes_of(metadata) + states)
    }
}

/// Heap addresses whose first home is the process.
pub fn arena(rank: u32) -> Range<usize> {
    get().geometry.arena(rank)
}

/// Top of the shared stack of a thread of this process.
///
/// # Panics
/// If the process has [`config::MAX_THREADS`] threads already.
pub fn stack_top(thread: u32) -> usize {
    let memory = get();
    memory.geometry.stack_top(memory.rank, thread).expect("a process has at most MAX_THREADS threads")
}

/// Whether the address lies in the shared region or the shared globals.
#[inline]
pub fn is_shared(address: usize) -> bool {
    get().geometry.is_shared(address)
}

use dsm_abi::layout::{SHARED_BASE, SHARED_END};
use dsm_coherence::Rank;

use super::layout::VIEW_SPACE;
use super::*;

fn geometry(processes: u32) -> Geometry {
    Geometry::new(Shape {
        processes,
        line_shift: 6,
        block_bytes: 256,
        globals: vec![0x400000..0x412345, 0..0],
        region: SHARED_BASE as usize..SHARED_END as usize,
        arena_bytes: 1 << 30,
        heap_blocks: Vec::new(),
        stack_bytes: 1 << 20,
        stacks: 16,
        notices: 1024,
        twin_pool_pages: 1024,
        observed: Observed::default(),
        paged: false,
    })
    .unwrap()
}

#[test]
fn addresses_and_blocks_agree() {
    let g = geometry(3);
    for rank in 0..3 {
        for range in [g.arena(rank), g.stacks(rank)] {
            for address in [range.start, range.end - 1] {
                assert!(g.is_shared(address));
                assert_eq!(g.default_home(g.block(address)), Rank(rank));
                assert_eq!(g.address(g.block(address)), address & !255);
            }
        }
    }
    assert_eq!(g.default_home(g.block(0x400100)), Rank(0));
    assert_eq!(g.address(g.block(0x4001ff)), 0x400100);
    assert_eq!(g.extent(0x4001ff, 0x400200).count, 2);
}

#[test]
fn whole_blocks_of_a_range() {
    let g = geometry(2);
    let start = g.arena(1).start;
    let whole = |from: usize, to: usize| {
        let (first, last) = (start + from, start + to - 1);
        let whole = g.whole(g.extent(first, last), first, last);
        whole.map(|e| (g.address(e.first) - start, e.count))
    };
    assert_eq!(whole(0, 256), Some((0, 1)));
    assert_eq!(whole(1, 512), Some((256, 1)));
    assert_eq!(whole(255, 1025), Some((256, 3)));
    assert_eq!(whole(256, 1023), Some((256, 2)));
    assert_eq!((whole(1, 256), whole(0, 255), whole(1, 511), whole(100, 101)), (None, None, None, None));
    // What is left of a range whose first blocks are valid already.
    let rest = g.extent(start + 512, start + 1099);
    assert_eq!(g.whole(rest, start + 100, start + 1099).map(|e| e.count), Some(2));
}

#[test]
fn globals_above_the_region() {
    let mut shape = geometry(2).shape;
    shape.globals[0] = 0x5555_5570_0000..0x5555_5571_0000;
    let g = Geometry::new(shape).unwrap();
    let address = 0x5555_5570_0123;
    assert_eq!(g.offset(address), 0x100123, "at the same distance from a huge page");
    assert_eq!(g.address(g.block(address)), 0x5555_5570_0100);
    assert!(g.is_shared(address) && !g.is_shared(0x5555_5571_0000));
}

#[test]
fn libraries_have_globals_too() {
    let mut shape = geometry(2).shape;
    let library = 0x7fff_f7a0_0000..0x7fff_f7e0_0000;
    shape.globals.push(library.clone());
    let g = Geometry::new(shape).unwrap();
    let (program, first, last) = (g.block(0x412344), g.block(library.start), g.block(library.end - 1));
    assert_eq!(
        (g.address(first), g.address(last), g.address(program)),
        (library.start, library.end - 256, 0x412300)
    );
    assert!(g.is_shared(library.end - 1) && !g.is_shared(library.end) && !g.is_shared(library.start - 1));
    assert_eq!(g.default_home(last), Rank(0));
    let arena = g.block(g.arena(0).start);
    for (before, after) in [(program, first), (last, arena)] {
        assert_ne!(before.chunk(), after.chunk());
        assert!(before.0 + 1 < after.0, "no extent goes from one image to the next");
    }
    assert_eq!(g.parts().count(), 3);
}

#[test]
fn arenas_have_parts_with_their_block_sizes() {
    let mut shape = geometry(2).shape;
    shape.heap_blocks = vec![64, 65536];
    let g = Geometry::new(shape).unwrap();
    let bytes = |address| g.block_bytes(g.block(address));
    for rank in 0..2 {
        let parts: Vec<_> = (0..3).map(|part| g.arena_part(rank, part)).collect();
        assert_eq!((parts[0].start, parts[2].end), (g.arena(rank).start, g.arena(rank).end));
        assert!(parts.windows(2).all(|p| p[0].end == p[1].start));
        for (part, expected) in parts.iter().zip([256, 64, 65536]) {
            assert_eq!((bytes(part.start), bytes(part.end - 1)), (expected, expected));
        }
    }
    let end = g.arena_part(0, 0).end;
    let extent = g.extent(end - 1000, end + 1000);
    assert_eq!((extent.count, g.address(extent.end())), (4, end), "an extent has one block size");
}

#[test]
fn parts_do_not_share_chunks() {
    let g = geometry(2);
    assert_ne!(g.block(g.arena(0).end - 1).chunk(), g.block(g.arena(1).start).chunk());
    assert_ne!(g.block(0x412344).chunk(), g.block(g.arena(0).start).chunk());
}

#[test]
fn many_processes_get_smaller_arenas() {
    let mut shape = geometry(1).shape;
    shape.processes = 64;
    shape.arena_bytes = 1 << 39;
    let g = Geometry::new(shape).unwrap();
    assert!(g.segment_bytes() * 64 <= VIEW_SPACE);
    assert!(g.arena(63).end <= SHARED_END as usize);
}

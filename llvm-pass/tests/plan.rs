//! Snapshots of printed plans, made from hand-written facts without LLVM.

use dsm_pass::analysis::facts::{
    Access, BlockFacts, Condition, Event, Exit, ExpectedRange, Footprint, FunctionFacts, Guard, Kind,
    LoopFacts, LoopRange, StackFacts, StackSlot, What,
};
use dsm_pass::analysis::format::{print_arguments, scan_arguments};
use dsm_pass::options::{OptionError, Options};
use dsm_pass::plan::plan;
use dsm_pass::plan::print::Printed;
use dsm_pass::plan::reasons::Names;

fn access(kind: Kind, key: u32, offset: i64, size: u64) -> Access {
    Access { key, offset, ..Access::new(kind, 0, size, size) }
}

fn block(preds: &[usize], events: Vec<(u32, What)>) -> BlockFacts {
    let events = events.into_iter().map(|(site, what)| Event { site, what }).collect();
    BlockFacts { preds: preds.to_vec(), events, ..BlockFacts::default() }
}

fn printed(facts: &FunctionFacts, options: &str) -> String {
    let plan = plan(facts, &Options::parse(options).expect("valid options"));
    Printed { plan: &plan, facts, names: &Names::default() }.to_string()
}

fn function(blocks: Vec<BlockFacts>) -> FunctionFacts {
    FunctionFacts { name: "f".to_owned(), blocks, ..FunctionFacts::default() }
}

#[test]
fn merges_up_to_a_line_and_not_across_a_sync_point() {
    let load = |site, offset| (site, What::Access(access(Kind::Load, 1, offset, 8)));
    let store = |site, offset| (site, What::Access(access(Kind::Store, 1, offset, 8)));
    let events = vec![load(0, 0), load(1, 56), store(2, 128), (3, What::Sync), load(4, 8)];
    let expected = "\
function f
  #0 load 8: checked, because no check before it covers it
  #1 load 8: merged into #0
  #2 store 8: checked, because no check before it covers it
  #4 load 8: checked, because no check before it covers it
  check #0 load ends [+0, 64) for 2
  check #2 store line [+0, 8) for 1
  check #4 load line [+0, 8) for 1
";
    assert_eq!(printed(&function(vec![block(&[], events)]), "line=6"), expected);
}

#[test]
fn merges_over_short_lines_only_where_it_touches_them_all() {
    let load = |site, offset| (site, What::Access(access(Kind::Load, 1, offset, 8)));
    let near = function(vec![block(&[], vec![load(0, 0), load(1, 100), load(2, 60), load(3, 120)])]);
    assert!(
        printed(&near, "line=6").contains("check #1 load word [-40, 68) for 3"),
        "{}",
        printed(&near, "line=6")
    );
    assert!(printed(&near, "line=10").contains("check #0 load ends [+0, 128) for 4"));
    let rising = function(vec![block(&[], vec![load(0, 0), load(1, 60), load(2, 120)])]);
    assert!(printed(&rising, "line=6").contains("check #0 load word [+0, 128) for 3"));
    let long = function(vec![block(&[], (0..9).map(|i| load(i, 60 * i64::from(i))).collect())]);
    assert!(printed(&long, "line=6").contains("check #0 load word [+0, 428) for 8"));
}

#[test]
fn a_check_on_one_path_only_is_not_available() {
    let load = |site| (site, What::Access(access(Kind::Load, 1, 0, 8)));
    let store = |site| (site, What::Access(access(Kind::Store, 1, 0, 8)));
    let blocks = vec![
        block(&[], vec![load(0)]),
        block(&[0], vec![store(1)]),
        block(&[0], vec![]),
        block(&[1, 2], vec![load(2), store(3)]),
    ];
    // The load is covered on both paths, the store on one of them.
    let expected = "\
function f
  #0 load 8: checked, because no check before it covers it
  #1 store 8: checked, because no check before it covers it
  #2 load 8: available
  #3 store 8: checked, because no check before it covers it
  check #0 load line [+0, 8) for 1
  check #1 store line [+0, 8) for 1
  check #3 store line [+0, 8) for 1
";
    assert_eq!(printed(&function(blocks), ""), expected);
}

#[test]
fn a_loop_does_not_reuse_the_previous_iterations_check_of_a_varying_address() {
    let mut blocks =
        vec![block(&[], vec![]), block(&[0, 1], vec![(0, What::Access(access(Kind::Load, 1, 0, 8)))])];
    blocks[1].inner = Some(0);
    let facts = FunctionFacts {
        loops: vec![LoopFacts { header: 1, preheader: Some(0), ..LoopFacts::default() }],
        ..function(blocks)
    };
    assert!(printed(&facts, "").contains("#0 load 8: checked"));
}

#[test]
fn a_store_behind_an_atomic_has_its_value_unless_something_relies_on_its_check() {
    let store = |site, key, offset| {
        let aligned = Access { align: 16, ..access(Kind::Store, key, offset, 8) };
        (site, What::Access(aligned))
    };
    let plan_of = |second: (u32, What), atomic: What, options: &str| {
        let mut blocks = vec![
            block(&[], vec![]),
            block(&[0, 2], vec![(0, atomic), store(1, 1, 0)]),
            block(&[1], vec![second]),
        ];
        (blocks[1].inner, blocks[2].inner) = (Some(0), Some(0));
        let l = LoopFacts { header: 1, preheader: Some(0), syncs: true, ..LoopFacts::default() };
        printed(&FunctionFacts { loops: vec![l], ..function(blocks) }, options)
    };
    let with_value = "check #1 store line [+0, 8) for 1 with its value";
    assert!(plan_of(store(2, 2, 0), What::Atomic(None), "").contains(with_value));
    // The other half of an aligned element relies on the check.
    assert!(plan_of(store(2, 1, 8), What::Atomic(None), "").contains("#2 store 8: available"));
    assert!(!plan_of(store(2, 1, 8), What::Atomic(None), "").contains("with its value"));
    assert!(!plan_of(store(2, 2, 0), What::Sync, "").contains("with its value"));
    assert!(!plan_of(store(2, 2, 0), What::Atomic(None), "disable=value").contains("with its value"));
}

#[test]
fn stores_to_two_fields_behind_an_atomic_have_checks_of_their_own() {
    let store = |site, offset| {
        let field = Access { align: 4, ..access(Kind::Store, 1, offset, 4) };
        (site, What::Access(field))
    };
    let plan_of = |fields: Vec<(u32, What)>, options: &str| {
        let events = std::iter::once((0, What::Atomic(None))).chain(fields).collect();
        let mut blocks = vec![block(&[], vec![]), block(&[0, 1], events)];
        blocks[1].inner = Some(0);
        let l = LoopFacts { header: 1, preheader: Some(0), syncs: true, ..LoopFacts::default() };
        printed(&FunctionFacts { loops: vec![l], ..function(blocks) }, options)
    };
    let two = plan_of(vec![store(1, 0), store(2, 4)], "");
    assert!(two.contains("check #1 store line [+0, 4) for 1 with its value"), "{two}");
    assert!(two.contains("check #2 store line [+0, 4) for 1 with its value"), "{two}");
    let three = plan_of(vec![store(1, 0), store(2, 4), store(3, 8)], "");
    assert!(three.contains("check #1 store ends [+0, 12) for 3"), "{three}");
    let without = plan_of(vec![store(1, 0), store(2, 4)], "disable=value");
    assert!(without.contains("check #1 store ends [+0, 8) for 2"), "{without}");
}

/// A loop that synchronises around one whose address varies, which nothing can be said of in front of it.
fn nest_of_elements(cost: u32) -> FunctionFacts {
    let mut blocks = vec![
        block(&[], vec![]),
        block(&[0, 2], vec![(0, What::Sync)]),
        block(&[1, 2], vec![(1, What::Access(access(Kind::Load, 1, 0, 8)))]),
    ];
    (blocks[1].inner, blocks[2].inner) = (Some(0), Some(1));
    let around = |header, parent, copy_cost| LoopFacts {
        parent,
        header,
        preheader: Some(header - 1),
        syncs: parent.is_none(),
        copy_cost,
        ..LoopFacts::default()
    };
    FunctionFacts { loops: vec![around(1, None, cost), around(2, Some(0), 8)], ..function(blocks) }
}

#[test]
fn a_nest_with_checks_has_a_version_for_one_process() {
    let outer = "loop 0 has a version without checks for jobs of one process";
    let inner = "loop 1 has a version without checks for jobs of one process";
    let small = printed(&nest_of_elements(20), "");
    assert!(small.contains(outer) && !small.contains(inner), "{small}");
    let large = printed(&nest_of_elements(2000), "");
    assert!(!large.contains(outer) && large.contains(inner), "{large}");
    let mut without = nest_of_elements(20);
    without.blocks[2].events.clear();
    assert!(!printed(&without, "").contains("jobs of one process"));
    for options in ["disable=single", "count", "verify", "check=mprotect"] {
        let plan = printed(&nest_of_elements(20), options);
        assert!(!plan.contains("jobs of one process"), "{options}: {plan}");
    }
}

#[test]
fn what_a_loop_is_expected_to_touch_is_one_hint_where_it_is_close() {
    let facts = |syncs| {
        let element = |site, kind, start_offset| {
            let expected =
                Some(ExpectedRange { over: 0, start_key: 1, start_offset, start: 2 + site, extent: 9 });
            (site, What::Access(Access { expected, ..access(kind, 1 + site, 0, 8) }))
        };
        let elements = vec![
            element(0, Kind::Load, 0),
            element(1, Kind::Load, 16),
            element(2, Kind::Store, 5000),
            element(3, Kind::Load, 4992),
        ];
        let mut blocks = vec![block(&[], vec![]), block(&[0, 1], elements)];
        blocks[1].inner = Some(0);
        let l = LoopFacts { header: 1, preheader: Some(0), syncs, ..LoopFacts::default() };
        FunctionFacts { loops: vec![l], ..function(blocks) }
    };
    let text = printed(&facts(false), "");
    assert!(text.contains("loop 0 is expected to load [e2+0, e9 + 24) by 2\n"), "{text}");
    assert!(text.contains("loop 0 is expected to store [e5+0, e9 + 16) by 2\n"), "{text}");
    assert!(text.contains("#0 load 8: checked") && text.contains("#2 store 8: checked"), "{text}");
    for text in [printed(&facts(true), ""), printed(&facts(false), "disable=hint")] {
        assert!(!text.contains("is expected to"), "{text}");
    }
}

fn nest(inner_syncs: bool) -> FunctionFacts {
    let loop_range = |over, offset, conditions: &[Condition]| LoopRange {
        over,
        start_key: 10 + over as u32,
        start_offset: offset,
        start: over as u32,
        extent: 5 + over as u32,
        bytes: None,
        strides: vec![],
        runtime_steps: None,
        conditions: conditions.to_vec(),
        fills: None,
    };
    let dense = [Condition::Dense { step: 3, extent: 6, slack: 71 }];
    let runtime_steps = |kind, offset| {
        let loop_ranges = vec![loop_range(1, offset, &[]), loop_range(0, offset, &dense)];
        What::Access(Access { loop_ranges, ..access(kind, 1, offset, 8) })
    };
    let mut blocks = vec![
        block(&[], vec![]),
        block(&[0, 2], vec![]),
        block(
            &[1, 2],
            vec![
                (0, runtime_steps(Kind::Load, 0)),
                (1, runtime_steps(Kind::Load, 16)),
                (2, runtime_steps(Kind::Store, 8)),
            ],
        ),
    ];
    blocks[1].inner = Some(0);
    blocks[2].inner = Some(1);
    let outer = LoopFacts { header: 1, preheader: Some(0), syncs: inner_syncs, ..LoopFacts::default() };
    let inner = LoopFacts { parent: Some(0), header: 2, preheader: Some(1), ..outer.clone() };
    FunctionFacts { loops: vec![outer, inner], ..function(blocks) }
}

#[test]
fn hoists_to_the_outer_loop_under_a_flag() {
    let expected = "\
function f
  #0 load 8: hoisted before loop 0
  #1 load 8: hoisted before loop 0
  #2 store 8: hoisted before loop 0
  loop 1: 3 accesses to memory that may be shared: 3 checked in front of a loop around it if that is regular at run time, else each time the loop starts
  flag 0 before block 0: e3 <= e6 + 71
  loop 0 store range [e0+0, e5 + 8) for 1 if flag 0
  loop 1 store range [e1+0, e6 + 8) for 1 unless flag 0, window from block 0, refilled
  loop 0 load range [e0+0, e5 + 24) for 2 if flag 0
  loop 1 load range [e1+0, e6 + 24) for 2 unless flag 0, window from block 0, refilled
";
    assert_eq!(printed(&nest(false), "line=6"), expected);
    let inner_only = printed(&nest(false), "line=6;disable=nest");
    assert!(
        inner_only.contains("loop 1 load range [e1+0, e6 + 24) for 2, window from block 0, refilled\n")
            && !inner_only.contains("flag")
    );
}

#[test]
fn does_not_hoist_out_of_a_loop_that_synchronises() {
    let text = printed(&nest(true), "line=6");
    let summary = "loop 1: 3 accesses to memory that may be shared: 3 checked per element; because the loop may synchronise; what would help: calls";
    assert!(
        text.contains(summary) && text.contains("#0 load 8: checked, because the loop may synchronise\n"),
        "{text}"
    );
    assert!(!text.contains("hoisted") && text.contains("#0 load 8: checked"), "{text}");
}

#[test]
fn footprints_with_constant_distances_are_one_and_every_check_needs_one() {
    let footprint = |offset: i64| Footprint {
        over: 0,
        lo_key: 1,
        lo_offset: offset,
        lo: 2 + offset as u32,
        hi_key: 3,
        hi_offset: offset,
        hi: 4 + offset as u32,
        counts: vec![9, 8],
    };
    let facts = |known: bool, syncs: bool| {
        let touches = |kind, offset, known: bool| {
            let footprints = if known { vec![footprint(offset)] } else { vec![] };
            What::Access(Access { footprints, ..access(kind, 1, offset, 4) })
        };
        let events = vec![(0, touches(Kind::Load, 8, true)), (1, touches(Kind::Store, 0, known))];
        let mut blocks = vec![block(&[], vec![]), block(&[0, 1], events)];
        blocks[1].inner = Some(0);
        let l = LoopFacts { header: 1, preheader: Some(0), copy_cost: 9, syncs, ..LoopFacts::default() };
        FunctionFacts { loops: vec![l], ..function(blocks) }
    };
    let line = "  loop 0 has a version without checks for when store [e10-8, e12+3] is valid, e8 is small, e9 is small\n";
    for options in ["", "disable=single", "count=1"] {
        let text = printed(&facts(true, false), options);
        assert!(text.contains(line), "{text}");
    }
    let without = [
        printed(&facts(true, false), "disable=footprint"),
        printed(&facts(false, false), ""),
        printed(&facts(true, true), ""),
    ];
    for text in without {
        assert!(!text.contains("is valid") && text.contains("jobs of one process"), "{text}");
    }
}

#[test]
fn lays_out_the_shared_frame_by_alignment() {
    let slot = |site, name: &str, size, align| StackSlot { site, name: name.to_owned(), size, align };
    let stack = StackFacts {
        fixed: vec![slot(0, "a", 1, 1), slot(1, "b", 40, 32), slot(2, "c", 8, 8)],
        dynamic: vec![(7, false)],
        saves: vec![8],
        ..StackFacts::default()
    };
    let facts = FunctionFacts { stack, ..function(vec![]) };
    let expected = "\
function f
  shared frame of 64 bytes, alignment 32
    #1 b at 0, 40 bytes
    #2 c at 40, 8 bytes
    #0 a at 48, 1 bytes
";
    assert_eq!(printed(&facts, ""), expected);
}

#[test]
fn options_are_checked() {
    assert_eq!(Options::parse("line=17"), Err(OptionError::Value("17".to_owned(), "line")));
    assert_eq!(Options::parse("disable=all"), Err(OptionError::UnknownSwitch("all".to_owned())));
    assert_eq!(Options::parse("x=1"), Err(OptionError::Unknown("x".to_owned())));
    let options = Options::parse("line=12; disable=hoist,merge;stats=1").expect("valid");
    assert!(options.line_bytes() == 4096 && options.stats);
    assert!(!options.enabled("hoist") && !options.enabled("merge") && options.enabled("available"));
}

#[test]
fn formats_name_their_memory() {
    let positions = |list: Vec<dsm_pass::analysis::format::FormatArg>| -> Vec<String> {
        let text = |a: dsm_pass::analysis::format::FormatArg| {
            let length = a.length.map_or("unknown".to_owned(), |l| l.to_string());
            format!("{} {:?} {length}", a.position, a.kind)
        };
        list.into_iter().map(text).collect()
    };
    let print = positions(print_arguments(b"%d %-*s %% %.3s %hhn %lc"));
    assert_eq!(print, ["2 Load string", "3 Load string within Bytes(3)", "4 Store 1 bytes"]);
    let scan = positions(scan_arguments(b"%d %*s %9s %[^]] %lf %c", None));
    assert_eq!(
        scan,
        ["0 Store 4 bytes", "1 Store 10 bytes", "2 Store unknown", "3 Store 8 bytes", "4 Store 1 bytes"]
    );
    let bounded = positions(scan_arguments(b"%s", Some(0)));
    assert_eq!(bounded, ["0 Store length of arg0 + 1"]);
}

#[test]
fn guards_and_exits_are_restated_where_something_is_put_in_front() {
    let mut facts = nest(false);
    let guard = |compare| Guard { compare, holds: compare % 2 == 0 };
    for l in &mut facts.loops {
        l.guards = (10..16).map(guard).collect();
        l.exits = vec![Exit { compare: 20, holds: true }];
    }
    let assumptions = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|l| l.contains(" is entered ") || l.contains(" ends where "))
            .map(str::to_owned)
            .collect()
    };
    let before = |over: usize| {
        let guards = (10..14).map(move |c| format!("  loop {over} is entered where #{c} is {}", c % 2 == 0));
        std::iter::once(format!("  loop {over} ends where the sides of #20 are equal")).chain(guards)
    };
    assert_eq!(assumptions(&printed(&facts, "")), before(0).chain(before(1)).collect::<Vec<_>>());
    assert!(assumptions(&printed(&facts, "disable=guards")).is_empty());
    assert!(
        assumptions(&printed(&facts, "disable=hoist,version")).is_empty(),
        "nothing is put in front of the loops"
    );
}

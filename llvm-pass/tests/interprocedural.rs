//! What callers check and which functions are copied, from hand-written call graphs without LLVM.

use dsm_pass::analysis::facts::{
    Access, Argument, BlockFacts, CallEdge, Checked, Event, Extent, FunctionFacts, FunctionNode, Graph, Kind,
    What,
};
use dsm_pass::options::Options;
use dsm_pass::plan::interprocedural::{Printed, clones, given};
use dsm_pass::plan::reasons::Names;
use dsm_pass::plan::{plan, print};

fn extent(parameter: u32, kind: Kind, lo: i64, hi: i64) -> Extent {
    Extent { parameter, kind, lo, hi }
}

fn function(name: &str, local: bool, touches: &[Extent]) -> FunctionNode {
    let (name, touches) = (name.to_owned(), touches.to_vec());
    FunctionNode { name, local, syncs: false, copy_cost: 20, touches, through: vec![1, 1] }
}

fn call(caller: usize, callee: usize, in_loop: bool, arguments: &[Argument]) -> CallEdge {
    CallEdge { caller, callee, always: true, in_loop, arguments: arguments.to_vec() }
}

fn printed(graph: &Graph, options: &str) -> String {
    let options = Options::parse(options).expect("valid options");
    Printed { graph, clones: &clones(graph, &options), given: &given(graph, &options) }.to_string()
}

/// `main` calls `outer` in a loop, which passes on its second parameter, 8 bytes further.
fn chain() -> Graph {
    let touched = [extent(0, Kind::Store, 0, 8), extent(0, Kind::Load, 8, 40), extent(0, Kind::Load, 4, 8)];
    let functions = vec![
        function("main", false, &[]),
        function("outer", true, &[extent(0, Kind::Store, 0, 8)]),
        function("inner", true, &touched),
    ];
    let passed = Argument::Parameter { index: 1, offset: 8 };
    let calls = vec![
        call(0, 1, true, &[Argument::Walks, Argument::Walks]),
        call(1, 2, false, &[passed, Argument::Other]),
    ];
    Graph { functions, calls }
}

#[test]
fn callers_check_along_a_chain_of_calls() {
    let expected = "\
callers of outer check
  arg0 store [0, 8)
  arg1 load [12, 48)
  arg1 store [8, 16)
callers of inner check
  arg0 load [4, 40)
  arg0 store [0, 8)
";
    assert_eq!(printed(&chain(), "line=10"), expected);
    assert_eq!(printed(&chain(), "line=10;disable=callers"), "");
}

#[test]
fn nothing_is_given_where_it_does_not_pay_or_hold() {
    let changed = |change: fn(&mut Graph)| {
        let mut graph = chain();
        change(&mut graph);
        printed(&graph, "line=10;disable=clone")
    };
    assert_eq!(changed(|g| g.calls[0].in_loop = false), "", "no loop to leave");
    assert_eq!(
        changed(|g| g.calls[0].arguments = vec![Argument::Other; 2]),
        "",
        "addresses that nobody can foresee"
    );
    assert_eq!(changed(|g| g.functions[1].local = false), "", "others may call it");
    let inner = changed(|g| g.functions[2].local = false);
    assert!(inner.contains("callers of outer") && !inner.contains("callers of inner"), "{inner}");
    let quiet = changed(|g| g.calls[1].always = false);
    assert!(!quiet.contains("arg1") && !quiet.contains("inner"), "{quiet}");
    let syncs = changed(|g| (g.functions[1].syncs, g.functions[2].syncs) = (true, true));
    assert_eq!(syncs, "", "what was checked on entry does not hold");
    assert_eq!(
        changed(|g| g.functions[1].touches = vec![extent(0, Kind::Load, 0, 1 << 20)]).lines().next(),
        Some("callers of outer check")
    );
}

#[test]
fn copies_are_made_for_private_pointers_and_open_functions() {
    let functions = vec![
        function("main", false, &[]),
        function("open", false, &[extent(0, Kind::Store, 0, 8)]),
        function("local", true, &[extent(0, Kind::Store, 0, 8)]),
    ];
    let to = |callee, in_loop, argument| call(0, callee, in_loop, &[argument, Argument::Other]);
    let calls = vec![
        to(1, true, Argument::Private),
        to(1, true, Argument::Walks),
        to(1, false, Argument::Private),
        to(2, true, Argument::Private),
    ];
    let mut graph = Graph { functions, calls };
    let expected = "\
copy of open for 1 calls that pass private pointers
copy of open for 1 calls that can check for it
";
    assert_eq!(printed(&graph, "line=10"), expected, "all calls of the local function pass private pointers");
    graph.calls.push(to(2, false, Argument::Other));
    assert!(printed(&graph, "line=10").ends_with("copy of local for 1 calls that pass private pointers\n"));
    assert_eq!(printed(&graph, "line=10;disable=clone"), "");
    graph.functions.iter_mut().for_each(|f| f.copy_cost = 10_000);
    assert_eq!(printed(&graph, "line=10"), "", "large functions");
}

#[test]
fn what_is_given_is_not_checked_again() {
    let access = |site, kind, offset| {
        let what = What::Access(Access { key: 1, offset, ..Access::new(kind, 0, 8, 8) });
        Event { site, what }
    };
    let events = vec![access(0, Kind::Load, 0), access(1, Kind::Store, 8), access(2, Kind::Load, 36)];
    let blocks = vec![BlockFacts { events, ..BlockFacts::default() }];
    let given = vec![Checked { key: 1, kind: Kind::Load, lo: 0, hi: 40 }];
    let facts = FunctionFacts { name: "f".to_owned(), blocks, given, ..FunctionFacts::default() };
    let expected = "\
function f
  #0 load 8: checked by the callers
  #1 store 8: checked, because no check before it covers it
  #2 load 8: merged into #1
  check #1 store ends [+0, 36) for 2
";
    let plan = plan(&facts, &Options::parse("line=10").expect("valid"));
    assert_eq!(print::Printed { plan: &plan, facts: &facts, names: &Names::default() }.to_string(), expected);
}

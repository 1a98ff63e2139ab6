//! What records say, as events with names and annotations.

use std::collections::HashMap;
use std::path::PathBuf;

use dsm_abi::trace::{CALLS, Kind, Record};

use super::intern::{Interned, Table};
use super::perfetto::{DebugAnnotation, InternedData, TrackEvent};
use super::symbols::{self, Names};

/// Most addresses whose variables are remembered.
const MOST_ADDRESSES: usize = 1 << 16;
/// Names of a block's states, by number.
const STATES: [&str; 6] = ["writable", "readable", "cold", "expired", "noticed", "invalid with own bytes"];

/// See the module.
#[derive(Default)]
pub struct Describer {
    names: Names,
    /// Numbers of the names of variables that were looked up, by address and bytes.
    variables: HashMap<(u64, u64), Option<u64>>,
    interned: Interned,
}

/// Names and values of what is told about an event.
struct About<'a> {
    describer: &'a mut Describer,
    annotations: Vec<DebugAnnotation>,
}

impl About<'_> {
    fn add(&mut self, name: &str, value: DebugAnnotation) {
        let name_iid = Some(self.describer.interned.number(Table::AnnotationNames, name));
        self.annotations.push(DebugAnnotation { name_iid, ..value });
    }

    fn number(&mut self, name: &str, value: u64) {
        self.add(name, DebugAnnotation { uint_value: Some(value), ..DebugAnnotation::default() });
    }

    /// By the text's number.
    fn text(&mut self, name: &str, text: u64) {
        self.add(name, DebugAnnotation { string_value_iid: Some(text), ..DebugAnnotation::default() });
    }

    /// `bytes`: how many lie there.
    fn address(&mut self, address: u64, bytes: u64) {
        let value = DebugAnnotation { pointer_value: Some(address), ..DebugAnnotation::default() };
        self.add("address", value);
        if let Some(name) = self.describer.variable(address, bytes) {
            self.text("variable", name);
        }
    }

    fn blocks(&mut self, about: u64) {
        self.number("blocks", about & ((1 << 56) - 1));
        let state = STATES.get((about >> 56) as usize).unwrap_or(&"unknown");
        let state = self.describer.interned.number(Table::StringValues, state);
        self.text("state", state);
    }

    fn numbers(&mut self, names: [&str; 2], word: u64) {
        for (name, value) in names.into_iter().zip(halves(word)) {
            self.number(name, value);
        }
    }
}

/// Numbers in the two halves of a word.
fn halves(word: u64) -> [u64; 2] {
    [word & u64::from(u32::MAX), word >> 32]
}

impl Describer {
    /// A file is mapped as part of the program, its addresses shifted by `bias`.
    pub fn add_image(&mut self, bias: u64, path: PathBuf) {
        self.names.add_image(bias, path);
    }

    /// Strings that were used and that no packet has.
    pub fn take_new(&mut self) -> Option<InternedData> {
        self.interned.take_new()
    }

    /// What a record says, as an event without type and track. `position`: of the source, if the record has one.
    pub fn describe(&mut self, record: &Record, position: Option<&str>) -> TrackEvent {
        let (category, name) = self.name(record, position);
        let category_iids = vec![self.interned.number(Table::Categories, category)];
        let name_iid = Some(self.interned.number(Table::EventNames, &name));
        let debug_annotations = self.annotate(record);
        TrackEvent { category_iids, name_iid, debug_annotations, ..TrackEvent::default() }
    }

    /// Category and name.
    fn name(&mut self, record: &Record, position: Option<&str>) -> (&'static str, String) {
        let Record { kind, a, b, .. } = *record;
        let named = |what: &str, name: Option<&str>| match name {
            Some(name) => format!("{what} {name}"),
            None => what.to_owned(),
        };
        match kind {
            Kind::Region => ("region", format!("region {}", self.function(a))),
            Kind::Loop => ("loop", named("loop", position)),
            Kind::Barrier => ("barrier", named("barrier", position)),
            Kind::Join => ("join", format!("end of region {}", self.function(a))),
            Kind::Lock => {
                let name = self.names.variable(a, 1).map(|variable| symbols::lock(&variable));
                ("lock", named("wait for lock", name.as_deref()))
            }
            Kind::Task => ("task", format!("task {}", self.function(a))),
            Kind::ReadMiss => ("miss", "read miss".into()),
            Kind::WriteMiss => ("miss", "write miss".into()),
            Kind::Fetch => ("fetch", "fetch".into()),
            Kind::Request => {
                let call = CALLS.get(halves(b)[0] as usize).unwrap_or(&CALLS[0]);
                ("request", format!("request {call}"))
            }
            Kind::Release => ("release", "release".into()),
            Kind::Acquire => ("acquire", "acquire".into()),
            Kind::Wait => ("wait", "wait".into()),
            Kind::Thread | Kind::Dropped | Kind::Precedes => ("dropped", "events dropped".into()),
        }
    }

    fn annotate(&mut self, record: &Record) -> Vec<DebugAnnotation> {
        let Record { kind, peer, a, b, .. } = *record;
        let mut about = About { describer: self, annotations: Vec::new() };
        match kind {
            Kind::Region => about.numbers(["thread", "threads"], b),
            Kind::Release => {
                about.numbers(["blocks in write notices", "blocks compared with twins"], a);
                about.numbers(["homes taken", "blocks merged at home"], b);
            }
            Kind::Acquire => about.numbers(["write notices", "blocks invalidated"], b),
            Kind::Fetch => about.number("bytes", b),
            Kind::ReadMiss | Kind::WriteMiss => about.blocks(b),
            Kind::Dropped => about.number("count", a),
            _ => {}
        }
        if let Some(peer) = peer {
            about.number("peer", peer.into());
        }
        match kind {
            Kind::Fetch => about.address(a, b),
            Kind::ReadMiss | Kind::WriteMiss | Kind::Lock => about.address(a, 1),
            Kind::Request if a != 0 => about.address(a, 1),
            _ => {}
        }
        about.annotations
    }

    /// Number of the name of what lies at an address.
    fn variable(&mut self, address: u64, bytes: u64) -> Option<u64> {
        // Addresses of misses come again and again.
        if let Some(known) = self.variables.get(&(address, bytes)) {
            return *known;
        }
        if self.variables.len() == MOST_ADDRESSES {
            self.variables.clear();
        }
        let name = self.names.variable(address, bytes);
        let number = name.map(|name| self.interned.number(Table::StringValues, &name));
        self.variables.insert((address, bytes), number);
        number
    }

    fn function(&mut self, address: u64) -> String {
        self.names.function(address).unwrap_or_else(|| format!("{address:#x}"))
    }
}

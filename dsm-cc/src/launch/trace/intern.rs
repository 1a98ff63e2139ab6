//! Strings that a trace has once, and events name by number.

use std::collections::HashMap;

use super::perfetto::{InternedData, InternedName};

/// Which of the format's tables a string is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Categories,
    EventNames,
    AnnotationNames,
    StringValues,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Interned {
    /// By table.
    known: [HashMap<String, u64>; 4],
    count: u64,
    new: InternedData,
}

impl Interned {
    /// The number of a string.
    pub fn number(&mut self, table: Table, name: &str) -> u64 {
        let Interned { known, count, new } = self;
        let known = &mut known[table as usize];
        if let Some(number) = known.get(name) {
            return *number;
        }
        *count += 1;
        known.insert(name.to_owned(), *count);
        let list = match table {
            Table::Categories => &mut new.event_categories,
            Table::EventNames => &mut new.event_names,
            Table::AnnotationNames => &mut new.debug_annotation_names,
            Table::StringValues => &mut new.debug_annotation_string_values,
        };
        list.push(InternedName { iid: Some(*count), name: Some(name.to_owned()) });
        *count
    }

    /// Those that the trace does not have yet, for the next packet.
    pub fn take_new(&mut self) -> Option<InternedData> {
        (self.new != InternedData::default()).then(|| std::mem::take(&mut self.new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_told_once() {
        let mut interned = Interned::default();
        let first = interned.number(Table::EventNames, "a");
        let other = interned.number(Table::StringValues, "a");
        assert_ne!(first, other);
        assert_eq!(interned.number(Table::EventNames, "a"), first);
        let new = interned.take_new().expect("two strings");
        assert_eq!(new.event_names, [InternedName { iid: Some(first), name: Some("a".into()) }]);
        assert_eq!(new.debug_annotation_string_values.len(), 1);
        assert!(interned.take_new().is_none());
    }
}

//! What gets may see: of each element the value of a put that has begun before the get ends, and that no other one has replaced before the get begins (atomic registers: Lamport
//! 1986), zero standing for a put before all.

use std::collections::HashMap;

/// Something that happened to one element, between two times.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The element.
    pub element: u64,
    /// Value put or got.
    pub value: u64,
    /// Whether it was put.
    pub is_put: bool,
    /// When the operation began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
}

/// Judges a run. `Err` says what nobody may see.
pub fn judge(events: &[Event]) -> Result<(), String> {
    let mut puts: HashMap<(u64, u64), Event> = HashMap::new();
    for event in events.iter().filter(|event| event.is_put) {
        puts.insert((event.element, event.value), *event);
    }
    let puts = &puts;
    // Values that were certainly there before: their put has ended, or somebody has got them.
    let known = |element: u64, before: u64| {
        events
            .iter()
            .filter(move |e| e.element == element && e.end < before && e.value != 0)
            .filter_map(move |e| puts.get(&(element, e.value)))
    };
    for got in events.iter().filter(|event| !event.is_put) {
        let Event { element, value, begin, end, .. } = *got;
        let written = match (value, puts.get(&(element, value))) {
            (0, _) => 0,
            (_, None) => return Err(format!("element {element}: {value:#x} was never put there")),
            (_, Some(put)) if put.begin > end => {
                return Err(format!("element {element}: {value:#x} is put later"));
            }
            (_, Some(put)) => put.end,
        };
        if let Some(newer) = known(element, begin).find(|put| put.begin >= written && put.value != value) {
            return Err(format!("element {element}: {value:#x} was replaced by {:#x} before", newer.value));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(is_put: bool, value: u64, begin: u64, end: u64) -> Event {
        Event { element: 0, value, is_put, begin, end }
    }

    #[test]
    fn what_was_replaced_is_not_seen() {
        let puts = [event(true, 1, 1, 2), event(true, 2, 3, 6)];
        let with = |gets: &[Event]| judge(&[&puts, gets].concat()).is_ok();
        assert!(with(&[event(false, 1, 4, 5), event(false, 2, 4, 5)]));
        assert!(!with(&[event(false, 1, 7, 8)]), "the second put has ended");
        assert!(!with(&[event(false, 2, 3, 4), event(false, 1, 5, 6)]), "it was seen already");
        assert!(!with(&[event(false, 0, 3, 4)]), "zero was replaced");
        assert!(!with(&[event(false, 3, 3, 4)]), "nobody put that");
        assert!(judge(&[event(true, 1, 5, 6), event(false, 1, 1, 2)]).is_err(), "it is put later");
    }
}

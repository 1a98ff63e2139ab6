//! Parts of the protocol that experiments leave out, to see what each is worth. A program computes the same without them.

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// A part that can be left out, see `DSM_PROTOCOL`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Part { $($(#[$doc])* $name,)* }

        impl Part {
            /// All of them.
            pub const ALL: &[Part] = &[$(Part::$name,)*];

            /// Its name in settings and tables, as it is called when it is left out.
            pub fn name_without(self) -> &'static str {
                match self { $(Part::$name => $text,)* }
            }
        }
    };
}

parts! {
    /// Leases beyond what an acquirer has already checked its copies against: without, each copy that a bound comes to asks its home anew.
    Leases "no-leases",
    /// Misses that take homes: without, homes move at releases only, as in Endo and Taura's first protocol.
    MigrationOnMiss "no-migration",
    /// Homes that stay writable when they have been published: without, each interval's first store asks and is published, read or not.
    ExclusiveHomes "no-exclusive-homes",
    /// Homes that move: without, releases merge what they changed into the contents at the home, as in home-based lazy release consistency. Atomic operations in a
    /// row still take the home of their block.
    MovingHomes "fixed-homes",
    /// Twins, by which several processes store to a block in the same interval: without, stores need the block's home, as in IVY (Li, Hudak 1989). Only where
    /// pages are protected.
    MultipleWriters "single-writer",
    /// Atomic operations at homes without the lock of the records there: without, each operation takes it.
    OpenRecords "no-open-records",
}

/// A set of parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parts(u8);

impl Parts {
    /// Whether a part is in the set.
    #[inline]
    pub fn has(self, part: Part) -> bool {
        self.0 & 1 << part as u8 != 0
    }

    /// Whether homes stay where they are as far as misses go, so that none can be taken for a store.
    pub fn keeps_homes(self) -> bool {
        self.has(Part::MigrationOnMiss) || self.has(Part::MovingHomes)
    }

    /// Reads names as [`Part::name_without`] has them, with commas between; `None` if one is no part's.
    pub fn parse(text: &str) -> Option<Parts> {
        let mut parts = Parts::default();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let part = Part::ALL.iter().find(|part| part.name_without() == name)?;
            parts.0 |= 1 << *part as u8;
        }
        Some(parts)
    }
}

impl From<Part> for Parts {
    fn from(part: Part) -> Parts {
        Parts(1 << part as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_a_set() {
        let all = Parts::parse(
            "no-leases,no-migration,no-exclusive-homes,fixed-homes,single-writer,no-open-records",
        )
        .expect("all are known");
        assert!(Part::ALL.iter().all(|part| all.has(*part) && !Parts::default().has(*part)));
        for part in Part::ALL {
            let one = Parts::parse(part.name_without()).expect("it is known");
            assert!(Part::ALL.iter().all(|other| one.has(*other) == (other == part)));
        }
        let some = Parts::parse(" no-leases, fixed-homes").expect("both are known");
        assert!(some.has(Part::Leases) && some.has(Part::MovingHomes) && !some.has(Part::MigrationOnMiss));
        assert_eq!((Parts::parse(""), Parts::parse("leases")), (Some(Parts::default()), None));
    }
}

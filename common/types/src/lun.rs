//! The slot of a data disk on a virtual machine.

use std::fmt;
use std::str::FromStr;

/// A logical unit number, 0 to 63 (REST reference, `DataDisk.lun`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lun(u8);

/// How many slots a virtual machine has at the most.
pub const LUN_COUNT: u8 = 64;

/// Why a text is not a LUN.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a LUN: expected a number from 0 to 63, or …/disk/azure/scsi<n>/lun<number>")]
pub struct NotALun(String);

impl Lun {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The NVMe namespace id under which Azure shows this slot: LUN + 2.
    #[must_use]
    pub const fn nsid(self) -> u32 {
        self.0 as u32 + 2
    }

    /// Every slot in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..LUN_COUNT).map(Self)
    }
}

impl TryFrom<i64> for Lun {
    type Error = NotALun;

    fn try_from(number: i64) -> Result<Self, NotALun> {
        match u8::try_from(number) {
            Ok(lun) if lun < LUN_COUNT => Ok(Self(lun)),
            _ => Err(NotALun(number.to_string())),
        }
    }
}

impl FromStr for Lun {
    type Err = NotALun;

    /// Accepts a decimal number, or the udev path form that older controllers wrote.
    fn from_str(text: &str) -> Result<Self, NotALun> {
        let wrong = || NotALun(text.escape_debug().to_string());
        let digits = if text.starts_with("/dev") {
            let (path, last) = text.rsplit_once('/').ok_or_else(wrong)?;
            let scheme = path.rsplit('/').next().unwrap_or_default();
            if !path.contains("/disk/azure/") || !scheme.starts_with("scsi") {
                return Err(wrong());
            }
            last.strip_prefix("lun").ok_or_else(wrong)?
        } else {
            text
        };
        if digits.is_empty() || digits.len() > 2 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        let number: i64 = digits.parse().map_err(|_| wrong())?;
        Self::try_from(number).map_err(|_| wrong())
    }
}

impl fmt::Display for Lun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of slots.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct LunSet(u64);

impl LunSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// Adds a slot; tells whether it was new.
    pub fn insert(&mut self, lun: Lun) -> bool {
        let before = self.0;
        self.0 |= 1 << lun.0;
        self.0 != before
    }

    /// Removes a slot.
    pub fn remove(&mut self, lun: Lun) {
        self.0 &= !(1 << lun.0);
    }

    /// Whether the slot is in the set.
    #[must_use]
    pub const fn contains(self, lun: Lun) -> bool {
        self.0 & (1 << lun.0) != 0
    }

    /// The lowest slot that is not in the set.
    #[must_use]
    pub fn lowest_free(self) -> Option<Lun> {
        Lun::all().find(|&lun| !self.contains(lun))
    }

    /// How many slots are in the set.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The slots in order.
    pub fn iter(self) -> impl Iterator<Item = Lun> {
        Lun::all().filter(move |&lun| self.contains(lun))
    }

    /// The slots of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl FromIterator<Lun> for LunSet {
    fn from_iter<I: IntoIterator<Item = Lun>>(luns: I) -> Self {
        let mut set = Self::EMPTY;
        for lun in luns {
            set.insert(lun);
        }
        set
    }
}

impl fmt::Debug for LunSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Lun::get)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Lun, LunSet};
    use proptest::prelude::*;

    #[test]
    fn the_forms_that_controllers_wrote_are_read() {
        for (text, lun) in [
            ("0", 0),
            ("15", 15),
            ("63", 63),
            ("/dev/disk/azure/scsi1/lun2", 2),
        ] {
            assert_eq!(text.parse::<Lun>().unwrap().get(), lun);
        }
        for text in [
            "",
            "-1",
            "64",
            "100",
            "lun3",
            "+1",
            " 1",
            "/dev/disk/by-id/x",
            "/dev/lun1",
            "0x1",
        ] {
            assert!(text.parse::<Lun>().is_err(), "{text}");
        }
    }

    #[test]
    fn namespace_ids_start_at_two() {
        for (lun, nsid) in [(0, 2), (1, 3), (12, 14), (63, 65)] {
            assert_eq!(Lun::try_from(lun).unwrap().nsid(), nsid);
        }
    }

    #[test]
    fn a_full_machine_has_no_free_slot() {
        let mut set: LunSet = Lun::all().collect();
        assert_eq!(set.lowest_free(), None);
        set.remove(Lun::try_from(40).unwrap());
        assert_eq!(set.lowest_free().unwrap().get(), 40);
    }

    proptest! {
        #[test]
        fn luns_round_trip(number in 0_i64..64) {
            let lun = Lun::try_from(number).unwrap();
            prop_assert_eq!(lun.to_string().parse::<Lun>().unwrap(), lun);
        }

        #[test]
        fn the_lowest_free_slot_is_free_and_lowest(used in proptest::collection::vec(0_i64..64, 0..64)) {
            let set: LunSet = used.iter().map(|&n| Lun::try_from(n).unwrap()).collect();
            let expected = (0..64).find(|n| !used.contains(n));
            prop_assert_eq!(set.lowest_free().map(|lun| i64::from(lun.get())), expected);
        }
    }
}

//! Bytes, GiB, and the capacity ranges of CSI.

use std::fmt;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bytes(u64);

/// A number of GiB (2^30 bytes), the unit in which Azure sizes disks and shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GiB(u32);

const GIB: u64 = 1 << 30;

impl Bytes {
    /// So many bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number as CSI carries it; sizes beyond 8 EiB do not exist.
    #[must_use]
    pub fn as_i64(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// Whole GiB, rounded up. Saturates far above every size that Azure offers.
    #[must_use]
    pub fn ceil(self) -> GiB {
        GiB(u32::try_from(self.0.div_ceil(GIB)).unwrap_or(u32::MAX))
    }

    /// Whole GiB, rounded down.
    #[must_use]
    pub fn floor(self) -> GiB {
        GiB(u32::try_from(self.0 / GIB).unwrap_or(u32::MAX))
    }
}

impl GiB {
    /// So many GiB.
    #[must_use]
    pub const fn new(gib: u32) -> Self {
        Self(gib)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The same in bytes.
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 as u64 * GIB)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0 && self.0.is_multiple_of(GIB) {
            write!(f, "{} GiB", self.0 / GIB)
        } else {
            write!(f, "{} bytes", self.0)
        }
    }
}

impl fmt::Display for GiB {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} GiB", self.0)
    }
}

/// What a caller asks for: at least `required`, at most `limit` (CSI, `CapacityRange`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapacityRange {
    required: Option<Bytes>,
    limit: Option<Bytes>,
}

/// Why a capacity range makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRange {
    /// A negative number.
    #[error("capacity_range.{field} is {value}: expected 0 or more bytes")]
    Negative {
        /// Which of the two fields.
        field: &'static str,
        /// What it held.
        value: i64,
    },
    /// Neither bound is set although the range is present.
    #[error("capacity_range sets neither required_bytes nor limit_bytes: set at least one")]
    Empty,
    /// The bounds exclude each other.
    #[error("capacity_range.limit_bytes {limit} is below required_bytes {required}")]
    Crossed {
        /// The lower bound, in bytes.
        required: u64,
        /// The upper bound, in bytes.
        limit: u64,
    },
}

/// No size in the asked range is possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no size from {least} to {most} fits capacity_range (required {required}, limit {limit})")]
pub struct OutOfRange {
    least: GiB,
    most: GiB,
    required: Bytes,
    limit: Bytes,
}

impl CapacityRange {
    /// The range of a request that names none.
    pub const ANY: Self = Self {
        required: None,
        limit: None,
    };

    /// The range as CSI carries it; zero means unset.
    ///
    /// # Errors
    /// Negative numbers, both unset, or a limit below what is required.
    pub fn from_wire(required: i64, limit: i64) -> Result<Self, BadRange> {
        let bound = |field, value: i64| match u64::try_from(value) {
            Err(_) => Err(BadRange::Negative { field, value }),
            Ok(0) => Ok(None),
            Ok(bytes) => Ok(Some(Bytes(bytes))),
        };
        match (
            bound("required_bytes", required)?,
            bound("limit_bytes", limit)?,
        ) {
            (None, None) => Err(BadRange::Empty),
            (Some(required), Some(limit)) if limit < required => Err(BadRange::Crossed {
                required: required.0,
                limit: limit.0,
            }),
            (required, limit) => Ok(Self { required, limit }),
        }
    }

    /// The lower bound, if one is set.
    #[must_use]
    pub const fn required(self) -> Option<Bytes> {
        self.required
    }

    /// The upper bound, if one is set.
    #[must_use]
    pub const fn limit(self) -> Option<Bytes> {
        self.limit
    }

    /// Whether an existing size satisfies it.
    #[must_use]
    pub fn admits(self, size: Bytes) -> bool {
        self.required.is_none_or(|least| size >= least)
            && self.limit.is_none_or(|most| size <= most)
    }

    /// The same without its upper bound.
    #[must_use]
    pub const fn without_limit(self) -> Self {
        Self {
            required: self.required,
            limit: None,
        }
    }

    /// The smallest whole number of GiB in the range and in `least..=most`; `default` when the
    /// caller has no lower bound. The limit is never rounded up.
    ///
    /// # Errors
    /// If there is none.
    pub fn pick(self, least: GiB, most: GiB, default: GiB) -> Result<GiB, OutOfRange> {
        let ceiling = self.limit.map_or(most, |limit| limit.floor().min(most));
        let wish = self
            .required
            .map_or_else(|| default.min(ceiling), Bytes::ceil)
            .max(least);
        if wish > ceiling {
            return Err(self.out_of(least, most));
        }
        Ok(wish)
    }

    /// The answer that no size from `least` to `most` is in the range.
    #[must_use]
    pub fn out_of(self, least: GiB, most: GiB) -> OutOfRange {
        OutOfRange {
            least,
            most,
            required: self.required.unwrap_or_default(),
            limit: self.limit.unwrap_or(most.bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadRange, Bytes, CapacityRange, GiB};
    use proptest::prelude::*;

    const GIB: i64 = 1 << 30;
    const LEAST: GiB = GiB::new(1);
    const MOST: GiB = GiB::new(32767);

    fn pick(required: i64, limit: i64) -> Option<u32> {
        let range = CapacityRange::from_wire(required, limit).unwrap();
        range.pick(LEAST, MOST, GiB::new(10)).ok().map(GiB::get)
    }

    #[test]
    fn a_limit_is_never_rounded_up() {
        assert_eq!(pick(GIB + 1, GIB + GIB / 2), None);
        assert_eq!(pick(GIB + 1, 2 * GIB), Some(2));
        assert_eq!(pick(0, GIB / 2), None);
    }

    #[test]
    fn the_default_serves_who_asks_for_nothing() {
        assert_eq!(
            CapacityRange::ANY.pick(LEAST, MOST, GiB::new(10)),
            Ok(GiB::new(10))
        );
        assert_eq!(pick(0, 5 * GIB), Some(5));
        assert_eq!(pick(1, 0), Some(1));
    }

    #[test]
    fn beyond_the_largest_disk_is_out_of_range() {
        assert_eq!(pick(32768 * GIB, 0), None);
        assert_eq!(pick(i64::MAX, 0), None);
    }

    #[test]
    fn nonsense_is_named() {
        assert!(matches!(
            CapacityRange::from_wire(-1, 0),
            Err(BadRange::Negative { .. })
        ));
        assert!(matches!(
            CapacityRange::from_wire(0, -5),
            Err(BadRange::Negative { .. })
        ));
        assert_eq!(CapacityRange::from_wire(0, 0), Err(BadRange::Empty));
        assert!(matches!(
            CapacityRange::from_wire(2, 1),
            Err(BadRange::Crossed { .. })
        ));
    }

    proptest! {
        #[test]
        fn what_is_picked_is_admitted(required in 0_i64..40_000 * GIB, extra in 0_i64..10 * GIB) {
            let range = CapacityRange::from_wire(required.max(1), required.max(1) + extra).unwrap();
            if let Ok(size) = range.pick(LEAST, MOST, GiB::new(10)) {
                prop_assert!(range.admits(size.bytes()));
                prop_assert!(size >= LEAST && size <= MOST);
            }
        }

        #[test]
        fn rounding_brackets(bytes in 0_u64..1 << 46) {
            let bytes = Bytes::new(bytes);
            prop_assert!(bytes.floor().bytes() <= bytes && bytes <= bytes.ceil().bytes());
        }
    }
}

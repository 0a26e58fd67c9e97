//! The volume context: what CreateVolume writes into a PersistentVolume for later calls.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use azcsi_types::access::MaxShares;
use azcsi_types::keys::volume_context as keys;
use azcsi_types::params::{BadParam, ParamMap};
use azcsi_types::size::GiB;
use azcsi_types::sku::Caching;

/// What the controller reads of a volume context. Keys of other versions are left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeContext {
    /// Size in GiB at creation; absent on static volumes.
    pub requested: Option<GiB>,
    /// Wish for host caching; absent means the default.
    pub caching: Option<Caching>,
    /// How many machines may hold the disk, if it is said.
    pub shares: Option<MaxShares>,
    /// Whether the write accelerator is wanted.
    pub write_accelerator: bool,
    /// Whether the volume came from the in-tree driver or an old class: the key `kind` is there.
    pub has_kind: bool,
    /// How long its attach waits for others to go with it.
    pub initial_delay: Option<Duration>,
}

/// Longest such wait: the call has other things to do with its time.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

impl VolumeContext {
    /// Reads the map.
    ///
    /// # Errors
    /// For values that cannot be read.
    pub fn decode(map: HashMap<String, String>) -> Result<Self, BadParam> {
        let mut map = ParamMap::new(map)?;
        let caching = match map.take(keys::CACHING_MODE) {
            Some(param) if !param.value.trim().is_empty() => Some(param.one_of(&Caching::WORDS)?),
            _ => None,
        };
        let shares = match map.take(keys::MAX_SHARES) {
            Some(param) => {
                let allowed = "a number from 1 to 255";
                let shares = MaxShares::new(param.parse(allowed)?);
                Some(shares.ok_or_else(|| param.refuse(allowed))?)
            }
            None => None,
        };
        let write_accelerator = map
            .take("writeAcceleratorEnabled")
            .is_some_and(|param| param.value.trim().eq_ignore_ascii_case("true"));
        Ok(Self {
            requested: map
                .take(keys::REQUESTED_SIZE_GIB)
                .and_then(|param| param.value.trim().parse().ok())
                .map(GiB::new),
            caching,
            shares,
            write_accelerator,
            has_kind: map.take(keys::KIND).is_some(),
            initial_delay: initial_delay(&mut map)?,
        })
    }

    /// Whether the volume was not made by CreateVolume.
    #[must_use]
    pub const fn is_static(&self) -> bool {
        self.requested.is_none()
    }
}

fn initial_delay(map: &mut ParamMap) -> Result<Option<Duration>, BadParam> {
    let Some(param) = map.take("attachDiskInitialDelay") else {
        return Ok(None);
    };
    let milliseconds: i64 = param.parse("a number of milliseconds")?;
    let delay = u64::try_from(milliseconds).unwrap_or(0);
    Ok((delay > 0).then(|| Duration::from_millis(delay).min(LONGEST_DELAY)))
}

/// What CreateVolume knows about the new volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewVolume {
    /// Its size.
    pub size: GiB,
    /// Whether it holds nothing yet.
    pub origin: Origin,
    /// Effective host caching.
    pub caching: Caching,
    /// How many machines may hold it.
    pub shares: MaxShares,
}

/// Where the content of a new volume is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere.
    Empty,
    /// A source of this size.
    Source(GiB),
}

/// Writes the context: the parameters as they were given, and what they led to.
#[must_use]
pub fn encode(
    parameters: &BTreeMap<String, String>,
    volume: &NewVolume,
) -> HashMap<String, String> {
    let mut map: HashMap<String, String> = parameters
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    put(
        &mut map,
        keys::REQUESTED_SIZE_GIB,
        volume.size.get().to_string(),
    );
    let (empty, grow) = match volume.origin {
        Origin::Empty => ("true", false),
        Origin::Source(size) => ("false", size < volume.size),
    };
    put(&mut map, keys::CREATED_EMPTY, empty.to_owned());
    if grow {
        put(&mut map, keys::RESIZE_REQUIRED, "true".to_owned());
    }
    // Said in every case: where the in-tree translation shows the volume, a mode that is not said
    // would read as ReadWrite.
    put(&mut map, keys::CACHING_MODE, volume.caching.to_string());
    if volume.shares.is_shared() {
        put(&mut map, keys::MAX_SHARES, volume.shares.get().to_string());
    }
    if map.keys().any(|key| key.eq_ignore_ascii_case(keys::KIND)) {
        put(&mut map, keys::KIND, "Managed".to_owned());
    }
    map
}

/// Sets a key, replacing every other spelling of it: readers ignore case.
fn put(map: &mut HashMap<String, String>, key: &str, value: String) {
    map.retain(|there, _| !there.eq_ignore_ascii_case(key));
    map.insert(key.to_owned(), value);
}

#[cfg(test)]
mod tests {
    use super::{NewVolume, Origin, VolumeContext, encode};
    use azcsi_types::access::MaxShares;
    use azcsi_types::size::GiB;
    use azcsi_types::sku::Caching;
    use std::collections::{BTreeMap, HashMap};

    fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    const VOLUME: NewVolume = NewVolume {
        size: GiB::new(8),
        origin: Origin::Empty,
        caching: Caching::ReadOnly,
        shares: MaxShares::ONE,
    };

    #[test]
    fn what_is_written_is_read_again() {
        let written = encode(
            &given(&[("skuName", "Premium_LRS"), ("Kind", "managed")]),
            &VOLUME,
        );
        assert_eq!(written["requestedsizegib"], "8");
        assert_eq!(written["createdEmpty"], "true");
        assert_eq!(written["kind"], "Managed");
        assert_eq!(written["cachingMode"], "ReadOnly");
        assert!(!written.contains_key("Kind") && !written.contains_key("resizeRequired"));
        let read = VolumeContext::decode(written).unwrap();
        assert_eq!(read.requested, Some(GiB::new(8)));
        assert!(read.has_kind && !read.is_static());
    }

    #[test]
    fn a_grown_copy_asks_for_a_resize_and_shared_disks_say_so() {
        let volume = NewVolume {
            origin: Origin::Source(GiB::new(4)),
            caching: Caching::None,
            shares: MaxShares::new(3).unwrap(),
            ..VOLUME
        };
        let written = encode(&given(&[("CachingMode", "ReadOnly")]), &volume);
        assert_eq!(written["resizeRequired"], "true");
        assert_eq!(written["createdEmpty"], "false");
        assert_eq!(written["cachingMode"], "None");
        assert!(!written.contains_key("CachingMode"));
        assert_eq!(
            VolumeContext::decode(written).unwrap().shares,
            MaxShares::new(3)
        );
    }

    #[test]
    fn old_and_foreign_contexts_are_read() {
        let read = VolumeContext::decode(HashMap::new()).unwrap();
        assert!(read.is_static() && read.caching.is_none() && read.shares.is_none());
        for (key, value) in [
            ("cachingmode", "sometimes"),
            ("maxShares", "0"),
            ("maxshares", "x"),
        ] {
            let map = HashMap::from([(key.to_owned(), value.to_owned())]);
            assert!(VolumeContext::decode(map).is_err(), "{key}");
        }
    }

    #[test]
    fn a_delay_is_read_in_milliseconds_and_bounded() {
        use std::time::Duration;
        let delay = |text: &str| {
            let map = [("attachdiskinitialdelay".to_owned(), text.to_owned())].into();
            VolumeContext::decode(map).map(|context| context.initial_delay)
        };
        assert_eq!(delay("1500"), Ok(Some(Duration::from_millis(1500))));
        assert_eq!(delay("999999999"), Ok(Some(Duration::from_secs(60))));
        assert_eq!(delay("0"), Ok(None));
        assert_eq!(delay("-1"), Ok(None));
        assert!(delay("soon").is_err());
    }
}

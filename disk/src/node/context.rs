//! What the node reads of volume context and publish context.
//!
//! Contexts are in PersistentVolumes that many versions wrote, so keys that are not known here are
//! left alone.

use std::collections::HashMap;

use azcsi_host::fsck::FsckPolicy;
use azcsi_types::access::MaxShares;
use azcsi_types::keys::{metadata, publish_context, volume_context};
use azcsi_types::lun::Lun;
use azcsi_types::params::{BadParam, ParamMap};
use azcsi_types::size::{Bytes, GiB};

use super::error::NodeError;
use super::perf;

/// Whether the driver made the disk empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Yes.
    Empty,
    /// No: it is a clone, a restore or an import.
    Filled,
    /// An older driver made it, or somebody else.
    #[default]
    Unknown,
}

/// When a disk may be formatted by the owner's own word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptIn {
    /// No word.
    #[default]
    None,
    /// When it is blank.
    Blank,
    /// When it holds nothing that is known.
    NonBlank,
}

/// What the node reads of the volume context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeContext {
    /// Filesystem wish of the StorageClass; wins over the capability.
    pub fs_type: Option<String>,
    /// Partition of the disk.
    pub partition: Option<u32>,
    /// Size that was asked for at creation.
    pub requested: Option<GiB>,
    /// How many machines may hold the disk.
    pub shares: MaxShares,
    /// Where its content is from.
    pub origin: Origin,
    /// The owner's word on formatting.
    pub opt_in: OptIn,
    /// When to check the filesystem.
    pub fsck: FsckPolicy,
    /// What is wished of the device's queue.
    pub perf: perf::Wish,
    /// Namespace and name of the claim, if the provisioner told them.
    pub claim: Option<(String, String)>,
}

impl VolumeContext {
    /// Reads the map.
    ///
    /// # Errors
    /// For values that cannot be read.
    pub fn decode(map: HashMap<String, String>) -> Result<Self, NodeError> {
        Self::read(map).map_err(|error| NodeError::value("volume_context", error))
    }

    fn read(map: HashMap<String, String>) -> Result<Self, BadParam> {
        let mut map = ParamMap::new(map)?;
        let flag = |map: &mut ParamMap, key| match map.take(key) {
            Some(param) => param.flag().map(Some),
            None => Ok(None),
        };
        let origin = match flag(&mut map, volume_context::CREATED_EMPTY)? {
            Some(true) => Origin::Empty,
            Some(false) => Origin::Filled,
            None => Origin::Unknown,
        };
        let blank = flag(&mut map, volume_context::ALLOW_FORMAT)?.unwrap_or(false);
        let any = flag(&mut map, volume_context::ALLOW_FORMAT_NON_BLANK)?.unwrap_or(false);
        let opt_in = match (any, blank) {
            (true, _) => OptIn::NonBlank,
            (false, true) => OptIn::Blank,
            (false, false) => OptIn::None,
        };
        let text = |param: Option<azcsi_types::params::Param>| {
            param
                .map(|param| param.value.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        Ok(Self {
            fs_type: text(map.take(volume_context::FS_TYPE)),
            partition: partition(&mut map)?,
            // Only a cross-check, so what cannot be read is as good as absent.
            requested: text(map.take(volume_context::REQUESTED_SIZE_GIB))
                .and_then(|text| text.parse().ok())
                .map(GiB::new),
            shares: shares(&mut map)?,
            origin,
            opt_in,
            fsck: fsck(&mut map)?,
            perf: perf::Wish::take(&mut map),
            claim: claim(&mut map),
        })
    }
}

/// The claim that the volume was made for; only for events.
fn claim(map: &mut ParamMap) -> Option<(String, String)> {
    let namespace = map.take(metadata::PVC_NAMESPACE)?.value;
    let name = map.take(metadata::PVC_NAME)?.value;
    Some((namespace, name))
}

fn partition(map: &mut ParamMap) -> Result<Option<u32>, BadParam> {
    let Some(param) = map.take(volume_context::PARTITION) else {
        return Ok(None);
    };
    if param.value.trim().is_empty() {
        return Ok(None);
    }
    let allowed = "a partition number from 1 to 128";
    let number: u32 = param.parse(allowed)?;
    if (1..=128).contains(&number) {
        Ok(Some(number))
    } else {
        Err(param.refuse(allowed))
    }
}

fn shares(map: &mut ParamMap) -> Result<MaxShares, BadParam> {
    let Some(param) = map.take(volume_context::MAX_SHARES) else {
        return Ok(MaxShares::ONE);
    };
    let allowed = "a number from 1 to 255";
    MaxShares::new(param.parse(allowed)?).ok_or_else(|| param.refuse(allowed))
}

fn fsck(map: &mut ParamMap) -> Result<FsckPolicy, BadParam> {
    let words = [
        ("auto", FsckPolicy::Auto),
        ("always", FsckPolicy::Always),
        ("never", FsckPolicy::Never),
    ];
    map.take(volume_context::FSCK)
        .map_or(Ok(FsckPolicy::Auto), |param| param.one_of(&words))
}

/// What the node reads of the publish context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishContext {
    /// The slot.
    pub lun: Option<Lun>,
    /// `uniqueId` of the disk.
    pub unique_id: Option<String>,
    /// Its size when it was attached.
    pub size: Option<Bytes>,
}

impl PublishContext {
    /// Reads the map. The key of the slot is matched exactly, as every node plugin did.
    ///
    /// # Errors
    /// When the slot cannot be read.
    pub fn decode(mut map: HashMap<String, String>) -> Result<Self, NodeError> {
        let lun = map
            .remove(publish_context::LUN)
            .map(|text| text.parse::<Lun>())
            .transpose()
            .map_err(|error| NodeError::value("publish_context.LUN", error))?;
        Ok(Self {
            lun,
            unique_id: map.remove(publish_context::DISK_UNIQUE_ID),
            size: map
                .remove(publish_context::DISK_SIZE_BYTES)
                .and_then(|text| text.parse().ok())
                .map(Bytes::new),
        })
    }

    /// The slot, where it is needed.
    ///
    /// # Errors
    /// When it is missing.
    pub fn needed_lun(&self) -> Result<Lun, NodeError> {
        self.lun
            .ok_or_else(|| NodeError::value("publish_context", "the key LUN is missing"))
    }

    /// The smallest size in bytes that the device may have.
    #[must_use]
    pub fn least(&self, volume: &VolumeContext) -> u64 {
        self.size
            .or_else(|| volume.requested.map(GiB::bytes))
            .map_or(0, Bytes::get)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use azcsi_types::fault::{Fault, Faulty};

    use super::{OptIn, Origin, PublishContext, VolumeContext};

    fn map(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn an_old_context_is_unknown_and_new_words_are_read() {
        let old = [
            ("skuname", "Premium_LRS"),
            ("requestedsizegib", "8"),
            ("other", "x"),
        ];
        let old = VolumeContext::decode(map(&old)).unwrap();
        assert_eq!((old.origin, old.opt_in), (Origin::Unknown, OptIn::None));
        let new = VolumeContext::decode(map(&[
            ("createdEmpty", "false"),
            ("allowFormatNonBlank", "TRUE"),
            ("FsType", "XFS"),
            ("csi.storage.k8s.io/pvc/name", "data"),
            ("csi.storage.k8s.io/pvc/namespace", "app"),
        ]))
        .unwrap();
        assert_eq!((new.origin, new.opt_in), (Origin::Filled, OptIn::NonBlank));
        assert_eq!(new.claim, Some(("app".to_owned(), "data".to_owned())));
    }

    #[test]
    fn nonsense_is_invalid() {
        for pair in [
            ("partition", "0"),
            ("partition", "129"),
            ("partition", "a"),
            ("maxshares", "0"),
            ("maxShares", "x"),
            ("createdEmpty", "maybe"),
            ("fsck", "sometimes"),
        ] {
            let error = VolumeContext::decode(map(&[pair])).unwrap_err();
            assert_eq!(error.fault(), Fault::Invalid, "{pair:?}");
        }
    }

    #[test]
    fn the_slot_is_read_exactly() {
        let lun = |pairs: &[(&str, &str)]| PublishContext::decode(map(pairs));
        assert_eq!(lun(&[("LUN", "3")]).unwrap().needed_lun().unwrap().get(), 3);
        assert!(lun(&[("lun", "3")]).unwrap().needed_lun().is_err());
        assert_eq!(lun(&[("LUN", "-1")]).unwrap_err().fault(), Fault::Invalid);
    }

    #[test]
    fn the_least_size_is_the_one_of_the_attach() {
        let volume = VolumeContext::decode(map(&[("requestedsizegib", "2")])).unwrap();
        let published = PublishContext::decode(map(&[("diskSizeBytes", "4096")])).unwrap();
        assert_eq!(published.least(&volume), 4096);
        assert_eq!(PublishContext::default().least(&volume), 2 << 30);
    }
}

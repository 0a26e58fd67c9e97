//! The parameters of a VolumeSnapshotClass.

use std::collections::BTreeMap;

use azcsi_types::keys::metadata;
use azcsi_types::params::{BadParam, ParamMap};
use azcsi_types::topology::Region;

use super::params::read::{policy, public, segment, text, user_agent, word};
use super::tags::{self, Tags};

/// What a VolumeSnapshotClass asks of a new snapshot. `None` means that nothing was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotParams {
    /// Whether only changes are kept.
    pub incremental: bool,
    /// The resource group.
    pub resource_group: Option<String>,
    /// The subscription.
    pub subscription: Option<String>,
    /// The region.
    pub location: Option<Region>,
    /// `AllowAll`, `AllowPrivate` or `DenyAll`.
    pub policy: Option<&'static str>,
    /// `Enabled` or `Disabled`.
    pub public: Option<&'static str>,
    /// `None` or `AzureActiveDirectory`.
    pub access_mode: Option<&'static str>,
    /// For how long instant access is offered, in minutes.
    pub instant_access: Option<u32>,
    /// Custom tags.
    pub tags: Tags,
    /// Name of the VolumeSnapshot.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// `User-Agent` of the requests that make the snapshot.
    pub user_agent: Option<String>,
}

impl SnapshotParams {
    /// Reads the parameters of CreateSnapshot.
    ///
    /// # Errors
    /// For keys that are unknown or given twice, and for values that they cannot have.
    pub fn parse(parameters: BTreeMap<String, String>) -> Result<Self, BadParam> {
        let mut map = ParamMap::new(parameters)?;
        let params = Self::read(&mut map)?;
        map.finish()?;
        Ok(params)
    }

    pub(super) fn read(map: &mut ParamMap) -> Result<Self, BadParam> {
        map.take(metadata::SNAPSHOT_CONTENT_NAME);
        let location = match map.take("location") {
            Some(param) if !param.value.trim().is_empty() => {
                Some(param.parse("an Azure region such as eastus2")?)
            }
            _ => None,
        };
        Ok(Self {
            incremental: !matches!(map.take("incremental"), Some(param) if param.value == "false"),
            resource_group: segment(map, "resourceGroup", 90)?,
            subscription: segment(map, "subscriptionID", 64)?,
            location,
            policy: policy(map)?,
            public: public(map)?,
            access_mode: word(
                map,
                "dataAccessAuthMode",
                &[
                    ("None", "None"),
                    ("AzureActiveDirectory", "AzureActiveDirectory"),
                ],
            )?,
            instant_access: instant_access(map)?,
            tags: tags::take(map)?,
            name: text(map.take(metadata::SNAPSHOT_NAME)),
            namespace: text(map.take(metadata::SNAPSHOT_NAMESPACE)),
            user_agent: user_agent(map)?,
        })
    }
}

fn instant_access(map: &mut ParamMap) -> Result<Option<u32>, BadParam> {
    let Some(param) = map.take("instantAccessDurationMinutes") else {
        return Ok(None);
    };
    let allowed = "a number of minutes from 60 to 300";
    let minutes: u32 = param.parse(allowed)?;
    if (60..=300).contains(&minutes) {
        Ok(Some(minutes))
    } else {
        Err(param.refuse(allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::SnapshotParams;
    use std::collections::BTreeMap;

    fn parse(pairs: &[(&str, &str)]) -> Result<SnapshotParams, azcsi_types::params::BadParam> {
        let map: BTreeMap<String, String> = pairs
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        SnapshotParams::parse(map)
    }

    #[test]
    fn snapshots_are_incremental_unless_told_otherwise() {
        assert!(parse(&[]).unwrap().incremental);
        assert!(parse(&[("incremental", "no")]).unwrap().incremental);
        assert!(!parse(&[("Incremental", "false")]).unwrap().incremental);
    }

    #[test]
    fn known_keys_are_read_and_others_refused() {
        let params = parse(&[
            ("resourcegroup", "g"),
            ("instantAccessDurationMinutes", "60"),
            ("csi.storage.k8s.io/volumesnapshot/name", "n"),
            ("csi.storage.k8s.io/volumesnapshotcontent/name", "x"),
            ("dataAccessAuthMode", "azureactivedirectory"),
        ])
        .unwrap();
        assert_eq!(params.instant_access, Some(60));
        assert_eq!(params.access_mode, Some("AzureActiveDirectory"));
        for pair in [
            ("instantAccessDurationMinutes", "59"),
            ("instantAccessDurationMinutes", "301"),
            ("dataAccessAuthMode", "x"),
            ("tags", "x"),
            ("other", "x"),
        ] {
            assert!(parse(&[pair]).is_err(), "{pair:?}");
        }
    }
}

//! The parameters of a VolumeSnapshotClass.

use std::collections::BTreeMap;

use azcsi_types::keys::metadata as keys;
use azcsi_types::params::{BadParam, ParamMap};

use super::params::{DataPlane, data_plane};

/// Key of a snapshot's metadata that holds the name of the request that made it.
pub const INITIATOR: &str = "initiator";

/// What a VolumeSnapshotClass says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotParams {
    /// The way in which it is taken; `None` for that of the volume.
    pub data_plane: Option<DataPlane>,
    /// Metadata of the snapshot.
    pub metadata: BTreeMap<String, String>,
}

impl SnapshotParams {
    /// Reads them.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn parse(map: BTreeMap<String, String>) -> Result<Self, BadParam> {
        let mut map = ParamMap::new(map)?;
        for key in [
            keys::SNAPSHOT_NAME,
            keys::SNAPSHOT_NAMESPACE,
            keys::SNAPSHOT_CONTENT_NAME,
        ] {
            map.take(key);
        }
        let params = Self {
            data_plane: data_plane(&mut map)?,
            metadata: metadata(&mut map)?,
        };
        map.finish()?;
        Ok(params)
    }
}

fn metadata(map: &mut ParamMap) -> Result<BTreeMap<String, String>, BadParam> {
    let mut found = BTreeMap::new();
    let Some(param) = map.take("metadata") else {
        return Ok(found);
    };
    if param.value.trim().is_empty() {
        return Ok(found);
    }
    for item in param.value.split(',') {
        let pair = item.split_once('=').map(|(k, v)| (k.trim(), v.trim()));
        let word = |text: &str| {
            let mut bytes = text.bytes();
            let first = bytes
                .next()
                .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
            first && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        match pair {
            Some((key, _)) if key.eq_ignore_ascii_case(INITIATOR) => {
                return Err(param.refuse("keys other than 'initiator', which is the driver's own"));
            }
            Some((key, value))
                if word(key) && value.bytes().all(|b| (b' '..=b'~').contains(&b)) =>
            {
                found.insert(key.to_ascii_lowercase(), value.to_owned());
            }
            _ => {
                return Err(param.refuse(
                    "key=value pairs with ',' between them: keys of letters, digits and '_', values of visible ASCII",
                ));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::SnapshotParams;
    use crate::model::params::DataPlane;

    fn parse(key: &str, value: &str) -> Option<SnapshotParams> {
        SnapshotParams::parse([(key.to_owned(), value.to_owned())].into()).ok()
    }

    #[test]
    fn false_is_not_true_and_metadata_is_checked_sn_13() {
        assert_eq!(parse("useDataPlaneAPI", "false").unwrap().data_plane, None);
        let oauth = parse("USEDATAPLANEAPI", "OAuth").unwrap();
        assert_eq!(oauth.data_plane, Some(DataPlane::Oauth));
        assert_eq!(
            parse("metadata", "a=b, Team = x y").unwrap().metadata["team"],
            "x y"
        );
        for (key, value) in [
            ("metadata", "Initiator=x"),
            ("metadata", "a"),
            ("metadata", "a-b=c"),
            ("metadata", "a=ä"),
            ("useDataPlaneAPI", "yes"),
            ("other", "x"),
        ] {
            assert_eq!(parse(key, value), None, "{key} {value}");
        }
        assert!(parse("csi.storage.k8s.io/volumesnapshot/name", "x").is_some());
    }
}

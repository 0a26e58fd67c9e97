//! The publish context: what ControllerPublishVolume tells the node about an attached disk.

use std::collections::HashMap;

use azcsi_types::disk_uri::DiskUri;
use azcsi_types::keys::publish_context as keys;
use azcsi_types::lun::Lun;
use azcsi_types::size::Bytes;

/// What the node is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishContext {
    /// The slot that Azure reported after the write.
    pub lun: Lun,
    /// The disk.
    pub disk: DiskUri,
    /// `properties.uniqueId` of the disk, if it is known.
    pub unique_id: Option<String>,
    /// Its size, if it is known.
    pub size: Option<Bytes>,
    /// Properties of a static volume under the keys that older controllers wrote.
    pub properties: Vec<(&'static str, String)>,
}

impl PublishContext {
    /// Writes the map.
    #[must_use]
    pub fn encode(self) -> HashMap<String, String> {
        let mut map: HashMap<String, String> = self
            .properties
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        map.insert(keys::LUN.to_owned(), self.lun.to_string());
        map.insert(keys::DISK_URI.to_owned(), self.disk.folded());
        if let Some(id) = self.unique_id {
            map.insert(keys::DISK_UNIQUE_ID.to_owned(), id);
        }
        if let Some(size) = self.size {
            map.insert(keys::DISK_SIZE_BYTES.to_owned(), size.get().to_string());
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::PublishContext;
    use azcsi_types::disk_uri::DiskUri;
    use azcsi_types::lun::Lun;
    use azcsi_types::size::Bytes;

    #[test]
    fn the_keys_are_those_that_nodes_read() {
        let mut context = PublishContext {
            lun: Lun::try_from(7).unwrap(),
            disk: DiskUri::new("S", "G", "D").unwrap(),
            unique_id: Some("u".to_owned()),
            size: Some(Bytes::new(42)),
            properties: vec![("skuname", "Premium_LRS".to_owned())],
        };
        let map = context.clone().encode();
        assert_eq!(map["LUN"], "7");
        assert_eq!(
            map["diskUri"],
            "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/disks/d"
        );
        assert_eq!(
            (map["diskUniqueId"].as_str(), map["diskSizeBytes"].as_str()),
            ("u", "42")
        );
        assert_eq!(map["skuname"], "Premium_LRS");
        context.unique_id = None;
        context.size = None;
        context.properties.clear();
        assert_eq!(context.encode().len(), 2);
    }
}

//! The volume context: what CreateVolume writes into a PersistentVolume, what users write into static
//! and inline volumes, and what the node reads of either.
//!
//! CreateVolume writes every parameter of the StorageClass as it was given, and over it what they led
//! to ([`NewVolume`]). The node reads the keys of [`VolumeContext`] and leaves all others alone: they
//! are the controller's, or of another version.

use std::collections::{BTreeMap, HashMap};

use azcsi_types::account::AccountName;
use azcsi_types::params::{BadParam, Param, ParamMap};
use azcsi_types::secret::Secret;

use super::claim::Claim;
use super::folder::Folder;
use super::protocol::{FsType, IdentityMount, Protocol, flag, text, word};

/// Key of the protocol. The controller writes `nfs`, or leaves what the class says.
pub const PROTOCOL: &str = "protocol";
/// Key of the host to mount from.
pub const SERVER: &str = "server";
/// Key of the file that holds a filesystem.
pub const DISK_NAME: &str = "diskname";
/// Key of the directory in the share; the controller has put names where placeholders were.
pub const FOLDER_NAME: &str = "folderName";
/// Key of the namespace of the Secret with the account's key.
pub const SECRET_NAMESPACE: &str = "secretnamespace";
const EPHEMERAL: &str = "csi.storage.k8s.io/ephemeral";
const POD_NAME: &str = "csi.storage.k8s.io/pod.name";
const POD_NAMESPACE: &str = "csi.storage.k8s.io/pod.namespace";
const POD_UID: &str = "csi.storage.k8s.io/pod.uid";
const SERVICE_ACCOUNT: &str = "csi.storage.k8s.io/serviceAccount.name";
const TOKENS: &str = "csi.storage.k8s.io/serviceAccount.tokens";

/// When the node changes the group of everything in a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupChange {
    /// Never.
    None,
    /// At every mount.
    Always,
    /// When the root has another group.
    OnRootMismatch,
}

impl GroupChange {
    /// The words.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("None", Self::None),
        ("Always", Self::Always),
        ("OnRootMismatch", Self::OnRootMismatch),
    ];
}

/// What the node reads. `None` means that nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeContext {
    /// Where the share is, as far as the volume id does not say it.
    pub place: Place,
    /// The host to mount from; otherwise it follows from account and suffix.
    pub server: Option<String>,
    /// The protocol, also where only `fsType` says it.
    pub protocol: Option<Protocol>,
    /// What `fsType` says.
    pub fs_type: Option<FsType>,
    /// The file that holds a filesystem.
    pub disk_name: Option<String>,
    /// The directory in the share, placeholders included (static volumes may have them).
    pub folder: Option<Folder>,
    /// Make the directory if it is absent.
    pub create_folder: bool,
    /// Where the account's key is.
    pub key: KeySource,
    /// The identity that mounts.
    pub identity: Identity,
    /// Mount options of an inline volume, separated by commas.
    pub mount_options: Option<String>,
    /// Mode of the mount's root; 0 leaves it.
    pub mount_permissions: Option<u32>,
    /// When the group of everything is changed.
    pub group_change: Option<GroupChange>,
    /// NFS through TLS.
    pub encrypt_in_transit: bool,
    /// Kata: the label of nodes, and the runtime class.
    pub kata: (Option<String>, Option<String>),
    /// The claim.
    pub claim: Claim,
    /// The pod that publishes.
    pub pod: Pod,
}

/// Where a share is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The subscription.
    pub subscription: Option<String>,
    /// The resource group.
    pub resource_group: Option<String>,
    /// The account.
    pub account: Option<AccountName>,
    /// The share; may hold placeholders.
    pub share: Option<String>,
    /// The suffix of the account's host.
    pub suffix: Option<String>,
}

/// Where an account's key comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySource {
    /// Name of the Secret.
    pub secret: Option<String>,
    /// Its namespace; present and empty where the key is present and empty.
    pub namespace: Option<String>,
    /// Only from the Secret, never by an identity of the node.
    pub only_secret: bool,
    /// The newer key of the account instead of the first.
    pub latest: bool,
}

/// Who mounts without a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// How; `None` for a key.
    pub mount: Option<IdentityMount>,
    /// The identity.
    pub client_id: Option<String>,
    /// Its tenant.
    pub tenant_id: Option<String>,
}

/// What kubelet tells of the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Whether the volume lives only as long as the pod.
    pub ephemeral: bool,
    /// Its name.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its uid.
    pub uid: Option<String>,
    /// Its service account.
    pub service_account: Option<String>,
    /// Tokens of the service account, JSON by audience.
    pub tokens: Option<Secret>,
}

impl VolumeContext {
    /// Reads the map. Keys ignore case; keys that are not the node's are left alone.
    ///
    /// # Errors
    /// Two spellings of one key, or a value that a key cannot have.
    pub fn decode(map: HashMap<String, String>) -> Result<Self, BadParam> {
        let mut map = ParamMap::new(map)?;
        let fs_type = word(&mut map, &["fsType"], &FsType::WORDS)?;
        let said = word(&mut map, &[PROTOCOL], &Protocol::WORDS)?;
        let protocol = said.or(match fs_type {
            Some(FsType::Nfs) => Some(Protocol::Nfs),
            _ => None,
        });
        Ok(Self {
            place: place(&mut map)?,
            server: text(&mut map, SERVER),
            protocol,
            fs_type,
            disk_name: text(&mut map, DISK_NAME),
            folder: folder(&mut map)?,
            create_folder: flag(&mut map, "createFolderIfNotExist")?.unwrap_or_default(),
            key: KeySource {
                secret: text(&mut map, "secretName"),
                namespace: map
                    .take(SECRET_NAMESPACE)
                    .map(|p| p.value.trim().to_owned()),
                only_secret: flag(&mut map, "getAccountKeyFromSecret")?.unwrap_or_default(),
                latest: flag(&mut map, "getLatestAccountKey")?.unwrap_or_default(),
            },
            identity: Identity {
                mount: IdentityMount::take(&mut map)?,
                client_id: text(&mut map, "clientID"),
                tenant_id: text(&mut map, "tenantID"),
            },
            mount_options: text(&mut map, "mountOptions"),
            mount_permissions: mount_permissions(&mut map)?,
            group_change: word(&mut map, &["fsGroupChangePolicy"], &GroupChange::WORDS)?,
            encrypt_in_transit: flag(&mut map, "encryptInTransit")?.unwrap_or_default(),
            kata: (
                text(&mut map, "confidentialContainerLabel"),
                text(&mut map, "runtimeClassHandler"),
            ),
            claim: Claim::take(&mut map),
            pod: pod(&mut map)?,
        })
    }
}

fn place(map: &mut ParamMap) -> Result<Place, BadParam> {
    let account = match map.take("storageAccount") {
        Some(param) if !param.value.trim().is_empty() => Some(account(&param)?),
        _ => None,
    };
    Ok(Place {
        subscription: text(map, "subscriptionID"),
        resource_group: text(map, "resourceGroup"),
        account,
        share: text(map, "shareName"),
        suffix: text(map, "storageEndpointSuffix"),
    })
}

/// Reads the name of an account.
///
/// # Errors
/// If it is none.
pub fn account(param: &Param) -> Result<AccountName, BadParam> {
    param.parse("3 to 24 lower-case letters and digits")
}

fn pod(map: &mut ParamMap) -> Result<Pod, BadParam> {
    Ok(Pod {
        ephemeral: flag(map, EPHEMERAL)?.unwrap_or_default(),
        name: text(map, POD_NAME),
        namespace: text(map, POD_NAMESPACE),
        uid: text(map, POD_UID),
        service_account: text(map, SERVICE_ACCOUNT),
        tokens: text(map, TOKENS).map(Secret::new),
    })
}

/// Takes the directory; slashes at its ends do not count, and nothing else is the share's root.
///
/// # Errors
/// If it is no path in a share.
pub fn folder(map: &mut ParamMap) -> Result<Option<Folder>, BadParam> {
    match map.take(FOLDER_NAME) {
        Some(param) if !param.value.trim_matches('/').is_empty() => {
            param.value.parse().map(Some).map_err(|_| {
                param.refuse(
                    "a path in the share: no part empty, '.' or '..', none with \\ : * ? \" < > | or at its end a dot or space",
                )
            })
        }
        _ => Ok(None),
    }
}

/// Takes the mode of a mount's root.
///
/// # Errors
/// If it is no number in octal.
pub fn mount_permissions(map: &mut ParamMap) -> Result<Option<u32>, BadParam> {
    let Some(param) = map.take("mountPermissions") else {
        return Ok(None);
    };
    let text = param.value.trim();
    if text.is_empty() {
        return Ok(None);
    }
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o7777 && !text.starts_with('+') => Ok(Some(mode)),
        _ => Err(param.refuse("a mode in octal, such as 0777, or 0 to leave it")),
    }
}

/// What CreateVolume knows of a new volume beside its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewVolume {
    /// Whether it is for NFS.
    pub nfs: bool,
    /// The host of its private endpoint.
    pub server: Option<String>,
    /// The file that holds its filesystem.
    pub disk_name: Option<String>,
    /// The directory that the node mounts; `None` where the volume id says it.
    pub folder: Option<String>,
    /// The namespace of the Secret with the account's key.
    pub secret_namespace: String,
}

/// Writes the context: the parameters as they were given, and over them what they led to.
#[must_use]
pub fn encode(
    parameters: &BTreeMap<String, String>,
    volume: &NewVolume,
) -> HashMap<String, String> {
    let mut map: HashMap<String, String> = parameters.clone().into_iter().collect();
    if volume.nfs {
        put(&mut map, PROTOCOL, Some("nfs"));
    }
    if let Some(server) = &volume.server {
        put(&mut map, SERVER, Some(server));
    }
    if let Some(disk) = &volume.disk_name {
        put(&mut map, DISK_NAME, Some(disk));
    }
    put(&mut map, FOLDER_NAME, volume.folder.as_deref());
    put(&mut map, SECRET_NAMESPACE, Some(&volume.secret_namespace));
    map
}

/// Replaces a key in whatever spelling it is there, or takes it away.
fn put(map: &mut HashMap<String, String>, key: &str, value: Option<&str>) {
    map.retain(|there, _| !there.eq_ignore_ascii_case(key));
    if let Some(value) = value {
        map.insert(key.to_owned(), value.to_owned());
    }
}

#[cfg(test)]
mod tests;

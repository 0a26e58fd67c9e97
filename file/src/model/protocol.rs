//! SMB or NFS, how an identity takes the place of a key, and the words for them.

use azcsi_types::params::{BadParam, ParamMap};

/// The protocol of a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// SMB 3.
    #[default]
    Smb,
    /// NFS 4.1.
    Nfs,
}

impl Protocol {
    /// The words of parameters and of the volume context.
    pub const WORDS: [(&'static str, Self); 2] = [("smb", Self::Smb), ("nfs", Self::Nfs)];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Smb => "smb",
            Self::Nfs => "nfs",
        }
    }
}

/// What `fsType` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FsType {
    /// The share itself, over SMB.
    Smb,
    /// The share itself, over NFS.
    Nfs,
    /// A filesystem of this name in a file on the share.
    Vhd(&'static str),
}

impl FsType {
    /// The words.
    pub const WORDS: [(&'static str, Self); 7] = [
        ("cifs", Self::Smb),
        ("smb", Self::Smb),
        ("nfs", Self::Nfs),
        ("ext4", Self::Vhd("ext4")),
        ("ext3", Self::Vhd("ext3")),
        ("ext2", Self::Vhd("ext2")),
        ("xfs", Self::Vhd("xfs")),
    ];
}

/// An identity that mounts instead of the account's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdentityMount {
    /// A managed identity of the node.
    Managed,
    /// The identity of the pod's service account.
    Workload,
    /// A token from a Secret.
    Token,
}

impl IdentityMount {
    const KEYS: [(&'static str, Self); 3] = [
        ("mountWithManagedIdentity", Self::Managed),
        ("mountWithWorkloadIdentityToken", Self::Workload),
        ("mountWithOAuthToken", Self::Token),
    ];

    /// Takes the keys of all three.
    ///
    /// # Errors
    /// If more than one is `true`, or a value is neither `true` nor `false`.
    pub fn take(map: &mut ParamMap) -> Result<Option<Self>, BadParam> {
        let mut found: Option<(&'static str, Self)> = None;
        for (key, mount) in Self::KEYS {
            match (flag(map, key)?, found) {
                (Some(true), Some((other, _))) => {
                    return Err(BadParam::Conflict {
                        key,
                        problem: format!("cannot be true together with '{other}'"),
                    });
                }
                (Some(true), None) => found = Some((key, mount)),
                (Some(false) | None, _) => {}
            }
        }
        Ok(found.map(|(_, mount)| mount))
    }
}

/// Takes a switch in any of the spellings that Go's parser knows, which classes in use are written in.
///
/// # Errors
/// For any other value.
pub fn flag(map: &mut ParamMap, key: &'static str) -> Result<Option<bool>, BadParam> {
    let Some(param) = map.take(key) else {
        return Ok(None);
    };
    match param.value.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "1" => Ok(Some(true)),
        "false" | "f" | "0" => Ok(Some(false)),
        _ => Err(param.refuse("true or false")),
    }
}

/// Takes a text; blank is absent.
pub fn text(map: &mut ParamMap, key: &'static str) -> Option<String> {
    let value = map.take(key)?.value.trim().to_owned();
    (!value.is_empty()).then_some(value)
}

/// Takes one of some words, whatever the case; blank is absent.
///
/// # Errors
/// For any other word.
pub fn word<T: Copy>(
    map: &mut ParamMap,
    keys: &[&'static str],
    words: &[(&'static str, T)],
) -> Result<Option<T>, BadParam> {
    match map.take_any(keys)? {
        Some(param) if !param.value.trim().is_empty() => param.one_of(words).map(Some),
        _ => Ok(None),
    }
}

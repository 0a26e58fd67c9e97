//! What a StorageClass says of the Secret with the account's key.

use azcsi_types::params::{BadParam, ParamMap};

use super::Shape;
use crate::model::protocol::{IdentityMount, Protocol, flag};

/// The Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretParams {
    /// Whether the key is written into it: only where a mount needs a key.
    pub store: bool,
    /// Its name; otherwise it follows from the account.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// The newer key of the account instead of the first.
    pub latest: bool,
}

pub(super) fn take(map: &mut ParamMap, shape: &Shape) -> Result<SecretParams, BadParam> {
    let asked = flag(map, "storeAccountKey")?.unwrap_or(true);
    // Secrets that were written lately are known anyway.
    flag(map, "useSecretCache")?;
    let name = object_name(map, "secretName")?;
    if shape.identity == Some(IdentityMount::Token) && name.is_none() {
        let problem = "needs secretName: the token is in that Secret".to_owned();
        return Err(BadParam::Conflict {
            key: "mountWithOAuthToken",
            problem,
        });
    }
    Ok(SecretParams {
        store: asked && shape.protocol == Protocol::Smb && shape.identity.is_none(),
        name,
        namespace: object_name(map, "secretNamespace")?,
        latest: flag(map, "getLatestAccountKey")?.unwrap_or_default(),
    })
}

/// A name of an object of Kubernetes.
fn object_name(map: &mut ParamMap, key: &'static str) -> Result<Option<String>, BadParam> {
    let Some(param) = map.take(key) else {
        return Ok(None);
    };
    let value = param.value.trim().to_owned();
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    if value.is_empty() {
        return Ok(None);
    }
    if value.len() > 253 || !value.bytes().all(word) {
        return Err(param.refuse("at most 253 lower-case letters, digits, '-' and '.'"));
    }
    Ok(Some(value))
}

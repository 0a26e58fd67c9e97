//! Volumes that live only as long as a pod. Pure.
//!
//! Whoever may make a pod writes their attributes, so nothing in them may reach another tenant's
//! account, key or ticket: no identity of the node, no Secret of another namespace, and of the mount
//! options only those of a list.

use crate::model::protocol::{FsType, IdentityMount, Protocol};
use crate::model::volume_context::VolumeContext;
use crate::node::options::name_of;

/// Whether the node's identity may fetch the key of an account that a pod names
/// (`allow-inline-volume-key-access-with-identity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKeys {
    /// Never.
    Denied,
    /// The owner of the cluster says so.
    Allowed,
}

/// Why such a volume is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInline {
    /// An attribute that inline volumes cannot have.
    #[error("an inline volume cannot have {0}")]
    Attribute(&'static str),
    /// The namespace of the pod is not told.
    #[error("kubelet does not tell the pod's namespace: the driver object needs podInfoOnMount")]
    NoNamespace,
    /// A mount option that is not on the list.
    #[error("the mount option '{0}' is not among those that an inline volume may set")]
    Option(String),
    /// A mount option with a value that it cannot have there.
    #[error("the mount option '{0}' cannot have this value on an inline volume")]
    Value(String),
}

/// Options with any plain value or none.
const PLAIN: [&str; 33] = [
    "ro",
    "rw",
    "noatime",
    "relatime",
    "nodiratime",
    "nodev",
    "nosuid",
    "noexec",
    "sync",
    "mfsymlinks",
    "nomfsymlinks",
    "nobrl",
    "nolease",
    "noperm",
    "perm",
    "forceuid",
    "forcegid",
    "noforceuid",
    "noforcegid",
    "serverino",
    "noserverino",
    "mapposix",
    "mapchars",
    "nomapchars",
    "nosharesock",
    "sharesock",
    "nostrictsync",
    "strictsync",
    "soft",
    "hard",
    "nocase",
    "posix",
    "_netdev",
];

/// Options with a number.
const NUMBERS: [&str; 14] = [
    "uid",
    "gid",
    "file_mode",
    "dir_mode",
    "actimeo",
    "acregmax",
    "acdirmax",
    "rsize",
    "wsize",
    "bsize",
    "closetimeo",
    "echo_interval",
    "handletimeout",
    "max_credits",
];

/// Options with one of some words.
const WORDS: [(&str, &[&str]); 3] = [
    ("cache", &["none", "strict", "loose"]),
    ("vers", &["3", "3.0", "3.02", "3.1.1"]),
    ("iocharset", &["utf8"]),
];

/// Checks one mount option.
///
/// # Errors
/// When it is not on the list.
pub fn check_option(word: &str) -> Result<(), NotInline> {
    let name = name_of(word);
    let value = word.split_once('=').map(|(_, value)| value);
    let fits = match value {
        None if PLAIN.contains(&name) => return Ok(()),
        Some(value) if NUMBERS.contains(&name) => {
            !value.is_empty() && value.len() <= 10 && value.bytes().all(|b| b.is_ascii_digit())
        }
        Some(value) => match WORDS.iter().find(|(word, _)| *word == name) {
            Some((_, allowed)) => allowed.contains(&value),
            None => return Err(NotInline::Option(shown(name))),
        },
        None => return Err(NotInline::Option(shown(name))),
    };
    if fits {
        Ok(())
    } else {
        Err(NotInline::Value(shown(name)))
    }
}

fn shown(name: &str) -> String {
    name.escape_debug().take(100).collect()
}

/// Checks the attributes and bends them to the rules: the Secret is in the pod's namespace, and
/// without it nothing names an account.
///
/// # Errors
/// For what such a volume cannot have.
pub fn restrict(context: VolumeContext, keys: NodeKeys) -> Result<VolumeContext, NotInline> {
    let refuse = |what| Err(NotInline::Attribute(what));
    if context.protocol == Some(Protocol::Nfs) {
        return refuse("the protocol nfs: nothing would check who mounts");
    }
    if context.disk_name.is_some() || matches!(context.fs_type, Some(FsType::Vhd(_))) {
        return refuse("a disk in a file");
    }
    match context.identity.mount {
        Some(IdentityMount::Managed) => return refuse("mountWithManagedIdentity"),
        Some(IdentityMount::Token) => return refuse("mountWithOAuthToken"),
        Some(IdentityMount::Workload) | None => {}
    }
    let is_name = |text: &Option<String>| {
        let bad = |text: &String| text.contains(['/', '\\']) || text == "." || text == "..";
        !text.as_ref().is_some_and(bad)
    };
    if !is_name(&context.server) || !is_name(&context.place.share) {
        return refuse("a server or shareName that is a path");
    }
    let Some(namespace) = context.pod.namespace.clone() else {
        return Err(NotInline::NoNamespace);
    };
    let mut context = context;
    context.key.namespace = Some(namespace);
    let by_pod = context.identity.mount == Some(IdentityMount::Workload);
    if keys == NodeKeys::Denied && !by_pod {
        context.key.only_secret = true;
        context.place.account = None;
    }
    Ok(context)
}

#[cfg(test)]
mod tests;

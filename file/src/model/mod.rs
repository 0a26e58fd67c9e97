//! What controller and node share: what a StorageClass says, and what a PersistentVolume remembers.
//!
//! | file | holds |
//! |---|---|
//! | [`claim`] | names that external-provisioner tells, and the placeholders that stand for them |
//! | [`folder`] | paths of directories in a share |
//! | [`protocol`] | SMB or NFS, and the words for it |
//! | [`volume_context`] | the volume context: written by CreateVolume, read by the node |

pub mod claim;
pub mod folder;
pub mod protocol;
pub mod volume_context;

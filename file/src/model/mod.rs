//! What controller and node share: what a StorageClass says, and what a PersistentVolume remembers.
//!
//! | file | holds |
//! |---|---|
//! | [`claim`] | names that external-provisioner tells, and the placeholders that stand for them |
//! | [`folder`] | paths of directories in a share |
//! | [`mutable`], [`params`], [`snapshot_params`] | parameters of the three classes |
//! | [`names`] | names of shares that the driver makes up |
//! | [`protocol`] | SMB or NFS, and the words for it |
//! | [`sku`] | SKUs of accounts, and what each means for shares |
//! | [`tags`] | tags of accounts |
//! | [`volume_context`] | the volume context: written by CreateVolume, read by the node |

pub mod claim;
pub mod folder;
pub mod mutable;
pub mod names;
pub mod params;
pub mod protocol;
pub mod sku;
pub mod snapshot_params;
pub mod tags;
pub mod volume_context;

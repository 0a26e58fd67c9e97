//! The Linux node: devices, mounts, filesystems.
//!
//! | module | what it holds |
//! |---|---|
//! | [`roots`] | where `/sys`, `/dev` and `/proc` are |
//! | [`devices`] | which device is at which LUN, and a guard that keeps it the same device |
//! | [`rescan`] | asking the kernel to look for disks, or at their size |
//! | [`probe`] | what is on a device, and the proof that it is blank |
//! | [`mkfs`], [`fsck`], [`growfs`] | making, checking and growing a filesystem |
//! | [`mountinfo`], [`mount`] | what is mounted; mounting and unmounting |
//! | [`shares`] | mounting a share of a file server, password and all, with the system call |
//! | [`net_probe`], [`liveness`] | names and ports of a server; whether it still answers |
//! | [`krb`] | Kerberos tickets, from the form of a message to that of a cache |
//! | [`usage`] | how full a filesystem is |
//! | [`state`] | records that survive a restart |
//! | [`tune`] | queue settings of a device |
//! | [`tools`], [`exec`] | which programs exist; the only place that starts one |
//! | [`worker`] | calls that may hang in the kernel, with a bound on the wait |
//!
//! Must not know: Azure's management API, Kubernetes, CSI, gRPC. A driver's node service gets only
//! the structs that it needs, so a driver without a [`mkfs::Mkfs`] cannot format.

pub mod devices;
pub mod error;
pub mod exec;
pub mod fsck;
pub mod growfs;
pub mod krb;
pub mod liveness;
pub mod mkfs;
pub mod mount;
pub mod mountinfo;
pub mod net_probe;
pub mod probe;
pub mod rescan;
pub mod roots;
pub mod shares;
pub mod state;
mod sysfs;
pub mod tools;
pub mod tune;
pub mod usage;
pub mod worker;

pub use error::HostError;
pub use roots::Roots;

//! The Node service as kubelet calls it, over a stand-in for the kernel's network filesystems.

mod calls;
mod identities;
mod inline;
mod repair;
mod rig;
mod secrets;
mod vhd;

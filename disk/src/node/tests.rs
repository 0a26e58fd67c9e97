//! The whole service on real loop devices, with the real tools.

#[path = "../../../common/host/tests/support/mod.rs"]
mod support;

mod bad_input;
mod block;
mod collisions;
mod content;
mod filesystems;
mod identity;
mod rig;
mod trouble;

//! The whole service on real loop devices, with the real tools.

#[path = "../../../common/host/tests/support/mod.rs"]
mod support;

mod bad_input;
mod block;
mod calls;
mod collisions;
mod content;
mod copies;
mod filesystems;
mod identity;
mod known;
mod rig;
mod trouble;

//! The controller of the file driver over the simulator.

mod changes;
mod copies;
mod create;
mod delete;
mod directories;
mod known;
mod networks;
mod snapshots;
pub(crate) mod world;

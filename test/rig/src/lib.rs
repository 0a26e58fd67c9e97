//! Starts the local Azure and the driver binaries, and proves that nothing is left when they end.
//!
//! | module | what it holds |
//! |---|---|
//! | [`rig`] | simulator, controller and node plugins, and how they end |
//! | [`plan`] | what to start, and the command line of each process |
//! | [`csi`] | CSI clients over private sockets, and the capabilities that tests ask for |
//! | [`control`] | the simulator's control API |
//! | [`process`] | child processes, stopped by their own id |
//! | [`leftovers`] | mounts and loop devices below a folder |
//!
//! Must not know: the drivers' code. It sees binaries, sockets and HTTP, as a user does.

pub mod control;
pub mod csi;
pub mod leftovers;
pub mod plan;
pub mod process;
pub mod rig;

//! The controller of the file driver over the simulator.

mod create;
mod delete;
mod world;

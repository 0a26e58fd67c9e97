//! The simulator's core through its service: no sockets, time by hand.

mod disks;
mod front_door;
mod support;

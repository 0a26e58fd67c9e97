//! The node plugin as a process, on real devices: killed, lied to, and called at the same time.
//!
//! | file | what it attacks |
//! |---|---|
//! | `kill` | the plugin is killed in the middle of every call |
//! | `slot` | another disk takes the slot of a volume |
//! | `world` | the world of a test, and a volume in it |

#![cfg(test)]

mod kill;
mod slot;
mod world;

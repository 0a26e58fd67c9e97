//! The node plugin as a process, on real devices: killed, lied to, and called at the same time.
//!
//! | file | what it attacks |
//! |---|---|
//! | `kill` | the plugin is killed in the middle of every call |
//! | `world` | the world of a test, and a volume in it |

#![cfg(test)]

mod kill;
mod world;

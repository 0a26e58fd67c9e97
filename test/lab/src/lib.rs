//! The node lab: virtual machines as Kubernetes nodes, with hot-plugged disks and real shares.
//!
//! | module | holds |
//! |---|---|
//! | [`guest`] | the program inside a machine: first process and agent |
//! | [`image`] | kernel, root filesystem, initial ramdisk |
//! | [`run`] | programs of the host |
//! | [`wire`] | what runner and agent say to each other |

pub mod cases;
pub mod guest;
pub mod hub;
pub mod image;
pub mod lab;
pub mod machine;
pub mod node;
pub mod run;
pub mod volume;
pub mod wait;
pub mod wire;

//! The node lab: virtual machines as Kubernetes nodes, with hot-plugged disks and real shares.
//!
//! | module | holds |
//! |---|---|
//! | [`cases`] | what is shown |
//! | [`runner`] | one case after another, with times and logs |
//! | [`lab`], [`node`], [`volume`], [`writer`] | what runs, and what can be asked of it |
//! | [`files`], [`offer`], [`shares`] | the file server, and the simulator's shares on it |
//! | [`front`] | stands before a controller and tells of changes before they are answered |
//! | [`machine`], [`hub`] | virtual machines and the network between them |
//! | [`image`] | kernel, root filesystem, initial ramdisk |
//! | [`guest`] | the program inside a machine: first process and agent |
//! | [`wire`] | what runner and agent say to each other |
//! | [`run`], [`wait`] | programs of the host; waiting for a condition |

pub mod cases;
pub mod files;
pub mod front;
pub mod guest;
pub mod hub;
pub mod image;
pub mod lab;
pub mod machine;
pub mod node;
pub mod offer;
pub mod run;
pub mod runner;
pub mod shares;
pub mod volume;
pub mod wait;
pub mod wire;
pub mod writer;

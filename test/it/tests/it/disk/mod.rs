//! The controller of the disk driver against Azure's rules and Azure's faults.

mod attach;
mod codes;
mod create;
mod halfway;
mod lifecycle;
mod notices;

//! The controller of the disk driver against Azure's rules and Azure's faults.

mod attach;
mod classes;
mod codes;
mod conversions;
mod create;
mod halfway;
mod known;
mod known_disks;
mod known_sizes;
mod lifecycle;
mod migrated;
mod notices;
mod storm;

//! The converter of in-tree Azure volumes: scan, plan, apply, verify, finalize, rollback.
//!
//! The source of a PersistentVolume cannot be edited, so a conversion deletes the object and makes it
//! anew, while the disk behind it stays untouched. Everything here serves two promises: no disk is
//! ever deleted, and at every moment there is a way back.
//!
//! | module | what it holds |
//! |---|---|
//! | [`args`] | the command line |
//! | [`commands`] | what each command does |
//! | [`inventory`] | what the cluster holds, read once |
//! | [`packed`] | objects that are kept in large numbers |
//! | [`facts`] | what Azure says, from files that `az` wrote |
//! | [`verdict`] | pure: whether a volume can be converted |
//! | [`target`] | pure: the new objects |
//! | [`equality`] | pure: whether old and new mean the same volume |
//! | [`plan`] | what is going to happen, with a hash over it |
//! | [`step`] | the states of one conversion and their order |
//! | [`journal`] | what happened, in a file and in the cluster |
//! | [`lease`] | one converter per volume at a time |
//! | [`engine`] | carries steps out, forward and back |
//! | [`offline`] | manifests on disk, comments kept |
//! | [`output`] | tables, JSON, YAML |
//! | [`failure`] | what went wrong, and the exit code that says what to do |
//!
//! Must not know: Azure's API, the kernel, CSI messages.

#![deny(missing_docs)]

pub mod args;
pub mod commands;
pub mod engine;
pub mod equality;
pub mod facts;
pub mod failure;
pub mod inventory;
pub mod journal;
pub mod lease;
pub mod offline;
pub mod output;
pub mod packed;
pub mod plan;
pub mod resources;
pub mod step;
pub mod target;
pub mod value;
pub mod verdict;
pub mod workload;

//! Rules of the CSI text that csi-sanity does not test, each test named by its rule. They see the
//! drivers as a container orchestrator does: built binaries behind sockets, with a local Azure.
//!
//! | module | what it holds |
//! |---|---|
//! | [`support`] | a world per test, and short forms of the calls |
//! | [`capability`] | capabilities and RPCs agree |
//! | [`codes`] | the code when Azure refuses |
//! | [`create`] | names, sizes, conflicts |
//! | [`list`] | pages, and what is listed |
//! | [`pending`] | calls that meet while one of them is still running |
//! | [`publish`] | attaching to nodes |
//! | [`node`] | staging and publishing on a node |
//! | [`health`] | the health calls |

#[cfg(test)]
mod capability;
#[cfg(test)]
mod codes;
#[cfg(test)]
mod create;
#[cfg(test)]
mod health;
#[cfg(test)]
mod list;
#[cfg(test)]
mod node;
#[cfg(test)]
mod pending;
#[cfg(test)]
mod publish;
#[cfg(test)]
mod support;

//! Everything between the CSI socket and a typed request.
//!
//! | module | what it holds |
//! |---|---|
//! | [`capability`] | what is offered: advertisement and gate from one typed set |
//! | [`clock`] | the clock of production and of tests |
//! | [`deadline`] | until when a call wants its answer |
//! | [`dispatcher`] | the way of every call: gate, decode, join or start, wait, encode |
//! | [`endpoint`], [`listener`], [`server`] | the socket: parse, bind privately, serve, drain |
//! | [`goflags`] | Go's flag forms, turned into what clap reads |
//! | [`handler`] | the shape of one RPC |
//! | [`identity`] | the Identity service |
//! | [`inflight`] | guards: what is being changed right now |
//! | [`layers`] | trace, metrics, catch_panic, limit |
//! | [`logging`] | log lines by verbosity |
//! | [`method`] | every CSI method: name, allowed faults, loudness |
//! | [`metrics`] | what is counted, and under which name |
//! | [`operations`] | running operations, which outlive their calls |
//! | [`paging`] | pages of a listing that survive deletions |
//! | [`probe`] | the health check that asks over the real socket |
//! | [`registrar`] | the plugin makes itself known to kubelet |
//! | [`redact`] | what a logged request may show |
//! | [`status`] | the one table from faults to gRPC codes |
//! | [`validate`] | field rules that both drivers share |
//! | [`web`] | `/metrics` and `/healthz` |
//!
//! Must not know: Azure, Kubernetes, the kernel, or any driver.

#![deny(missing_docs)]

pub mod capability;
pub mod clock;
pub mod deadline;
pub mod dispatcher;
pub mod endpoint;
pub mod goflags;
pub mod handler;
pub mod identity;
pub mod inflight;
pub mod layers;
pub mod listener;
pub mod logging;
pub mod method;
pub mod metrics;
pub mod operations;
pub mod paging;
pub mod probe;
pub mod redact;
pub mod registrar;
pub mod server;
pub mod status;
pub mod validate;
pub mod web;

pub use clock::SystemClock;
pub use dispatcher::{Dispatcher, Limits};
pub use endpoint::Endpoint;
pub use handler::{Handler, Measure, Scope};
pub use inflight::GuardKey;
pub use method::Method;

#[cfg(test)]
mod testing;

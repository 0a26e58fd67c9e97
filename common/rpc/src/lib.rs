//! Everything between the CSI socket and a typed request.
//!
//! | module | what it holds |
//! |---|---|
//! | [`capability`] | what is offered: advertisement and gate from one typed set |
//! | [`clock`] | the clock of production and of tests |
//! | [`deadline`] | until when a call wants its answer |
//! | [`dispatcher`] | the way of every call: gate, decode, join or start, wait, encode |
//! | [`endpoint`], [`listener`], [`server`] | the socket: parse, bind privately, serve, drain |
//! | [`handler`] | the shape of one RPC |
//! | [`identity`] | the Identity service |
//! | [`inflight`] | guards: what is being changed right now |
//! | [`layers`] | trace, metrics, catch_panic, limit |
//! | [`method`] | every CSI method: name, allowed faults, loudness |
//! | [`metrics`] | what is counted, and under which name |
//! | [`operations`] | running operations, which outlive their calls |
//! | [`redact`] | what a logged request may show |
//! | [`status`] | the one table from faults to gRPC codes |
//!
//! Must not know: Azure, Kubernetes, the kernel, or any driver.

pub mod capability;
pub mod clock;
pub mod deadline;
pub mod dispatcher;
pub mod endpoint;
pub mod handler;
pub mod identity;
pub mod inflight;
pub mod layers;
pub mod listener;
pub mod method;
pub mod metrics;
pub mod operations;
pub mod redact;
pub mod server;
pub mod status;

pub use clock::SystemClock;
pub use dispatcher::{Dispatcher, Limits};
pub use endpoint::Endpoint;
pub use handler::{Handler, Measure, Scope};
pub use inflight::GuardKey;
pub use method::Method;

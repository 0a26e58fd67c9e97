//! A stub of the Kubernetes API: a test double, and named so.
//!
//! It serves the few resources that the drivers read and write, with the semantics their safety
//! depends on: versions and conflicts, watches without gaps, finalizers. It has no authentication,
//! no admission, no schemas, no garbage collection and no scheduler. On request it has the few
//! controllers that decide over volumes. The cluster suites use a real
//! API server.
//!
//! | file | holds |
//! |---|---|
//! | [`resources`] | what is served, and the grammar of URLs |
//! | [`store`] | objects, versions, the change log |
//! | [`object`] | what the server does to metadata |
//! | [`patch`] | merge patch and JSON patch |
//! | [`select`] | label and field selectors |
//! | [`watch`] | watch streams |
//! | [`rules`] | which fields of volumes cannot be changed |
//! | [`controllers`] | binding, workloads, attachments, for tests of tools that convert volumes |
//! | [`faults`] | conflicts, stale reads and callers that die, on request |
//! | [`discovery`] | what `kubectl` asks first |
//! | [`http`] | verbs and status codes |
//! | [`seed`] | Node objects for simulated nodes, and the kubeconfig |

pub mod controllers;
pub mod discovery;
pub mod error;
pub mod faults;
pub mod http;
pub mod object;
pub mod patch;
pub mod resources;
pub mod rules;
pub mod seed;
pub mod select;
pub mod store;
pub mod watch;

pub use http::{StubBody, answer};
pub use store::Store;

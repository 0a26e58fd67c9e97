//! Azure Resource Manager: requests, errors, long-running operations, pages.

pub mod calls;
mod classify;
pub mod client;
pub mod error;
mod lro;
mod page;
pub(crate) mod request;

//! Azure Resource Manager: requests, errors, long-running operations, pages.

mod classify;
pub mod client;
pub mod error;
mod lro;
mod page;
mod request;

//! From a request to an answer: transport, tokens, throttling gate, retries, names for the log.

pub mod retry;
pub mod throttle;
pub mod trace;
pub mod transport;

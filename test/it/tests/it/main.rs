//! One test binary; each module is named by what it holds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what failed by panicking"
)]

mod layering;

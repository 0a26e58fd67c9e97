//! Integration tests over the local Azure. The tests are in `tests/it`.
//!
//! Must not know: nothing is forbidden here, and nothing may depend on this crate.

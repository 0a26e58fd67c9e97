//! The judgement over a run of csi-sanity, for whoever runs it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`report`] | the judgement over every spec |
//! | [`capabilities`] | what is advertised, must be, and excuses a skip |

#![deny(missing_docs)]

pub mod capabilities;
pub mod report;

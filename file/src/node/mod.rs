//! The Node service.

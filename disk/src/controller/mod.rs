//! The Controller service.

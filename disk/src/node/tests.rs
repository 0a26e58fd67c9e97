//! Tests on real devices.

//! Command line and start-up configuration.

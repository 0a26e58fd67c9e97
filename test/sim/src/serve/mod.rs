//! The running simulator: sockets, certificates, time, files for its users.

pub mod clock;
pub mod discovery;
pub mod endpoints;
pub mod site;
pub mod tls;

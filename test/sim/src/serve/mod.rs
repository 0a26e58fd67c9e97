//! The running simulator: sockets, certificates, time, files for its users.

pub mod backend;
mod bind;
pub mod clock;
pub mod directory;
pub mod discovery;
pub mod endpoints;
pub mod keeper;
pub mod lag;
pub mod limits;
pub mod machine;
pub mod run;
pub mod secrets;
pub mod site;
pub mod sites;
pub mod tls;

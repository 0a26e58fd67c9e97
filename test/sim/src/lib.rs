//! A local Azure: ARM, Entra, instance metadata and disks, on one machine.
//!
//! | part | holds |
//! |---|---|
//! | [`world`] | what exists |
//! | [`sim`] | the service: a lock, a clock, requests |
//! | `front_door`, `route`, `throttle`, `answer` | a request's way in and out |
//! | `lro`, `compute`, [`storage`], [`network`] | operations and resources |
//! | [`files`] | the data plane of Azure Files, and the contents of shares |
//! | [`faults`], [`requests`], [`violations`] | how tests break it and what they read |
//! | [`backend`], [`serve`], [`cli`] and the rest | the binary around it |

mod answer;
pub mod backend;
mod call;
pub mod cli;
mod compute;
pub mod control;
pub mod entra;
mod error;
pub mod faults;
pub mod files;
mod front_door;
mod guids;
pub mod imds;
pub mod kubeapi;
mod latency;
mod leaks;
pub mod link;
pub mod lro;
mod manual_clock;
mod marks;
pub mod network;
mod operation_urls;
pub mod persist;
mod query;
mod quotas;
pub mod requests;
mod route;
mod saved;
pub mod serve;
pub mod sim;
mod stamp;
mod state;
pub mod storage;
mod table;
mod throttle;
mod versions;
pub mod violations;
pub mod world;
pub mod worldfile;

pub use front_door::Auth;
pub use manual_clock::ManualClock;
pub use quotas::{BadQuotas, Quotas};
pub use sim::{Disconnected, Sim, SimOptions};
pub use state::{Casing, HostLink, Profile};
pub use table::Table;
pub use world::World;

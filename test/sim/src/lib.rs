//! A local Azure: ARM, Entra, instance metadata and disks, on one machine.
//!
//! | part | holds |
//! |---|---|
//! | [`world`] | what exists |
//! | [`sim`] | the service: a lock, a clock, requests |
//! | `front_door`, `route`, `throttle`, `answer` | a request's way in and out |
//! | `lro`, `compute` | operations and resources |
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
mod front_door;
pub mod imds;
pub mod kubeapi;
mod latency;
pub mod link;
pub mod lro;
mod manual_clock;
pub mod persist;
mod query;
pub mod requests;
mod route;
pub mod serve;
pub mod sim;
mod stamp;
mod state;
mod throttle;
pub mod violations;
pub mod world;
pub mod worldfile;

pub use front_door::Auth;
pub use manual_clock::ManualClock;
pub use sim::{Disconnected, Sim, SimOptions};
pub use state::{Casing, HostLink, Profile};
pub use world::World;

//! The simulator's core through its service: no sockets, time by hand.

#[cfg(test)]
mod accounts;
#[cfg(test)]
mod attach;
#[cfg(test)]
mod disks;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod file_shares;
#[cfg(test)]
mod files;
#[cfg(test)]
mod front_door;
#[cfg(test)]
mod machines;
#[cfg(test)]
mod network;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod plane_shares;
#[cfg(test)]
mod sets;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod storage_support;
#[cfg(test)]
mod support;
#[cfg(test)]
mod throttle;
#[cfg(test)]
mod watch;

//! The command line.
//!
//! Standard output carries only what was asked for: one JSON object from `serve`, a world file from
//! `world`, JSON from the commands that talk to a running simulator. Everything else goes to
//! standard error, and every refusal is one line that says what to do.

pub mod client;
pub mod dispatch;
pub mod generate;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::quotas::Quotas;
use crate::worldfile::PoolKind;

/// A local Azure for the storage drivers.
#[derive(Debug, Parser)]
#[command(name = "azcsi-sim", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the binary can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a world until a signal ends it.
    Serve(ServeArgs),
    /// Write a world file for so many nodes to standard output.
    World(WorldArgs),
    /// Show what a running simulator serves and holds.
    Status(ControlArgs),
    /// Show, set from a file, or clear the faults of a running simulator.
    Faults(FaultsArgs),
    /// Show the requests that a running simulator has answered.
    Requests(RequestsArgs),
    /// Look for secrets in log files of programs that used a running simulator.
    Logs(LogsArgs),
    /// Start, stop or deallocate a node's virtual machine.
    Power(PowerArgs),
}

/// How a device appears when a disk is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostLink {
    /// It does not.
    None,
    /// As a loop device under the node's device root; needs root.
    Loop,
    /// In a QEMU virtual machine whose monitor is `nodes/NAME/qmp.sock` in DIR: the node lab.
    Qmp,
}

/// How slow and how strict Azure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileName {
    /// Every operation is done at once, nothing is throttled.
    Instant,
    /// Documented latencies and limits.
    Azure,
    /// Documented latencies, a tenth of the limits.
    Stress,
}

/// Options of `serve`.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// World file; make one with `azcsi-sim world`. Not needed when DIR holds a world already.
    #[arg(long, value_name = "FILE")]
    pub world: Option<PathBuf>,
    /// State directory: disks, certificates, and everything that outlives the process.
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Loopback address of the ARM endpoint over HTTPS; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How many simulated seconds pass in a real one; 0 stops time until it is advanced.
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = time_scale)]
    pub time_scale: f64,
    /// Whether attached disks appear as devices.
    #[arg(long, value_enum, default_value = "none")]
    pub host_link: HostLink,
    /// Latencies and limits.
    #[arg(long, value_enum, default_value = "instant")]
    pub profile: ProfileName,
    /// What a subscription may hold: `none`, `azure`, or such as `disks=10,snapshots=20,gib=1024`.
    /// When left out: none in `instant`, the documented ones in `azure`, a tenth in `stress`.
    #[arg(long, value_name = "LIST")]
    pub quotas: Option<Quotas>,
    /// Where the JSON object with all endpoints goes; `-` is standard output.
    #[arg(long, value_name = "PATH", default_value = "-")]
    pub print_endpoints: String,
    /// Seconds after which the metadata service shows an attach or detach.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=600))]
    pub imds_lag: u32,
}

/// Options of `world`.
#[derive(Debug, Args)]
pub struct WorldArgs {
    /// How many nodes.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=5000))]
    pub nodes: u32,
    /// Zones, separated by commas; leave out for regional machines.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = ["1", "2", "3"])]
    pub zones: Vec<String>,
    /// Size of the virtual machines.
    #[arg(long, default_value = "Standard_D4s_v5")]
    pub size: String,
    /// How the nodes are managed.
    #[arg(long, value_enum, default_value = "uniform")]
    pub kind: PoolKind,
    /// Region.
    #[arg(long, default_value = "eastus2")]
    pub location: String,
}

/// Which running simulator to talk to.
#[derive(Clone, Debug, Args)]
pub struct ControlArgs {
    /// State directory of the running simulator.
    #[arg(long, value_name = "DIR", required_unless_present = "control")]
    pub dir: Option<PathBuf>,
    /// Control URL, as printed by `serve`.
    #[arg(long, value_name = "URL", conflicts_with = "dir")]
    pub control: Option<String>,
}

/// Options of `faults`.
#[derive(Debug, Args)]
pub struct FaultsArgs {
    /// Which simulator.
    #[command(flatten)]
    pub control: ControlArgs,
    /// Set the script in this JSON file; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "clear")]
    pub set: Option<String>,
    /// Forget all faults.
    #[arg(long)]
    pub clear: bool,
}

/// Options of `requests`.
#[derive(Debug, Args)]
pub struct RequestsArgs {
    /// Which simulator.
    #[command(flatten)]
    pub control: ControlArgs,
    /// Only requests after this number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub since: u64,
    /// Show what must never happen instead, and fail when any of it did.
    #[arg(long)]
    pub violations: bool,
}

/// Options of `logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Which simulator.
    #[command(flatten)]
    pub control: ControlArgs,
    /// The files; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
}

/// Options of `power`.
#[derive(Debug, Args)]
pub struct PowerArgs {
    /// Which simulator.
    #[command(flatten)]
    pub control: ControlArgs,
    /// The node.
    pub node: String,
    /// What to do with its virtual machine.
    #[arg(value_enum)]
    pub state: PowerVerb,
}

/// What can be done with a virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PowerVerb {
    /// Power on.
    Start,
    /// Power off; the machine keeps its host.
    Off,
    /// Give the host back; disks become reserved.
    Deallocate,
    /// Replace the OS disk.
    Reimage,
    /// Delete the machine.
    Delete,
}

fn time_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (0.0..=100_000.0).contains(&scale) => Ok(scale),
        _ => Err("a number from 0 to 100000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_time_scale_is_a_finite_number_that_does_not_go_back() {
        for bad in ["-1", "NaN", "inf", "fast", "1e9"] {
            assert!(time_scale(bad).is_err(), "{bad}");
        }
        assert_eq!(time_scale("0"), Ok(0.0));
    }
}

//! What the runner asks of the agent inside a machine: one JSON line each way per connection.

use serde::{Deserialize, Serialize};

/// Port of the agent inside a machine.
pub const AGENT_PORT: u16 = 9000;
/// Port of the disk driver inside a machine.
pub const CSI_PORT: u16 = 10000;
/// Port of the File driver inside a machine.
pub const FILE_PORT: u16 = 10001;
/// The name under which the file server's machine sees the simulator's shares.
pub const SHARES_TAG: &str = "azure-shares";
/// The machine's own address on the link to the host.
pub const GUEST_ADDRESS: &str = "10.0.2.15";
/// The host's loopback, as the machine sees it.
pub const HOST_ADDRESS: &str = "10.0.2.2";
/// Where the agent keeps what it makes.
pub const RUN: &str = "/run/lab";
/// The tree that shows sysfs with the names that it has on Azure.
pub const AZURE_SYS: &str = "/run/lab/sys";
/// Slot of the PCI bus that a controller is in: it tells the udev rules which one it is.
pub const SLOT_SYSTEM: u8 = 0x10;
/// As [`SLOT_SYSTEM`]: data disks.
pub const SLOT_DATA: u8 = 0x11;
/// As [`SLOT_SYSTEM`]: the volume with disk-encryption keys.
pub const SLOT_KEYS: u8 = 0x12;
/// As [`SLOT_SYSTEM`]: disks that become NVMe namespaces.
pub const SLOT_NVME: u8 = 0x13;

/// List in the initial ramdisk: modules in the order in which they load, one path each.
pub const MODULES: &str = "/modules.list";
/// Label of the root filesystem.
pub const LABEL: &str = "azlab-root";

/// A request to the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase")]
pub enum Request {
    /// Is it there?
    Ping,
    /// Runs a program to its end.
    Run {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// Starts a program that goes on; its output goes to a log below [`RUN`].
    Start {
        /// Its name, for [`Request::Stop`] and the log.
        name: String,
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// Fails, with the end of the log, when a program that was started has ended.
    Running {
        /// Its name.
        name: String,
    },
    /// Kills a program that was started, and waits for its end.
    Stop {
        /// Its name.
        name: String,
    },
    /// Writes a file.
    Put {
        /// Where.
        path: String,
        /// What.
        text: String,
    },
    /// Listens on an address and carries each connection to a port of the host's loopback.
    Relay {
        /// Address and port to listen on.
        listen: String,
        /// Port of the host.
        port: u16,
    },
    /// Writes a pattern, and asks the kernel to bring it to the disk.
    Fill(Span),
    /// Reads a pattern past the page cache where possible, and counts bytes that differ.
    Check(Span),
    /// Writes the pattern over and over until that fails, in the background; the result goes to the
    /// log of `writer`.
    WriteUntilError(Span),
    /// The same, but an error is noted in the log and the next round begins.
    WriteThroughErrors(Span),
    /// Ends that writer after its round.
    EndWriter,
}

/// A pattern at a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Span {
    /// File or block device.
    pub path: String,
    /// First byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// Which pattern.
    pub seed: u64,
}

/// The answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Reply {
    /// Done.
    Done,
    /// A program's end.
    Ran {
        /// Exit code; 128 and the signal's number for one that was killed.
        code: i32,
        /// Standard output.
        stdout: String,
        /// Standard error.
        stderr: String,
    },
    /// How many bytes were not what they should be.
    Checked {
        /// How many.
        wrong: u64,
    },
    /// It did not work.
    Failed {
        /// Why.
        why: String,
    },
}

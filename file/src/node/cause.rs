//! Why a mount failed. Pure: facts in, one cause out.
//!
//! One error number of the kernel has many reasons, and one reason shows as many numbers (`EINPROGRESS`
//! of a blocked port, `ENOENT` of a server that is not there), so the cheap questions come first: does
//! the name resolve, does the port answer, does the account's own service know the share.

use azcsi_host::net_probe::{Port, Resolved};
use azcsi_types::fault::Fault;
use nix::libc;

use crate::model::protocol::Protocol;

/// Who mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The account's key.
    Key,
    /// A Kerberos ticket.
    Ticket,
    /// Nobody: NFS.
    Nobody,
}

/// What the account's own service says of the share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareSays {
    /// It is there.
    There,
    /// It is not there.
    Missing,
    /// The key is not the account's.
    KeyRefused,
    /// The account takes no keys.
    KeysOff,
    /// A network rule of the account keeps this node out.
    NetworkRule,
    /// Nobody asked, or it did not answer.
    Unknown,
}

/// What is known of a failed mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The protocol.
    pub protocol: Protocol,
    /// The kernel's error number; `None` when it has not answered in time.
    pub errno: Option<i32>,
    /// What the name resolves to.
    pub name: Resolved,
    /// What the port did.
    pub port: Port,
    /// What the account says.
    pub share: ShareSays,
    /// Who mounted.
    pub who: Who,
    /// Whether a directory in the share is mounted.
    pub in_folder: bool,
    /// Whether the kernel has the filesystem at all.
    pub has_filesystem: bool,
    /// Whether the kernel allows only algorithms of FIPS 140.
    pub is_fips: bool,
}

/// The cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The kernel lacks the filesystem.
    NoFilesystem,
    /// The name does not resolve.
    NameUnknown,
    /// The resolver is silent.
    ResolverSilent,
    /// Packets to the port are dropped.
    PortBlocked,
    /// Nobody listens.
    PortRefused,
    /// No way to the host.
    HostUnreachable,
    /// The share does not exist.
    ShareMissing,
    /// The directory does not exist in it.
    FolderMissing,
    /// The key is wrong, or was rotated.
    KeyRefused,
    /// Access with keys is switched off.
    KeysOff,
    /// A network rule keeps the node out.
    NetworkRule,
    /// The NFS server does not admit this client.
    NfsDenied,
    /// No ticket, or an expired one.
    NoTicket,
    /// The identity has no role.
    NoRole,
    /// NTLM needs algorithms that FIPS forbids.
    Fips,
    /// The server does not accept the login, and nothing tells why.
    Denied,
    /// An option is wrong.
    BadOption,
    /// The server went away while it was asked.
    ServerLost,
    /// The kernel does not come back.
    Hangs,
    /// Anything else.
    Unclear,
}

/// Decides.
#[must_use]
pub fn judge(facts: &Facts) -> Cause {
    if !facts.has_filesystem {
        return Cause::NoFilesystem;
    }
    match &facts.name {
        Resolved::Unknown(_) => return Cause::NameUnknown,
        Resolved::Silent => return Cause::ResolverSilent,
        Resolved::Addresses(_) => {}
    }
    match facts.port {
        Port::Silent => return Cause::PortBlocked,
        Port::Refused => return Cause::PortRefused,
        Port::Unreachable => return Cause::HostUnreachable,
        Port::Open => {}
    }
    match facts.share {
        ShareSays::Missing => return Cause::ShareMissing,
        ShareSays::KeyRefused => return Cause::KeyRefused,
        ShareSays::KeysOff => return Cause::KeysOff,
        ShareSays::NetworkRule => return Cause::NetworkRule,
        ShareSays::There | ShareSays::Unknown => {}
    }
    facts
        .errno
        .map_or(Cause::Hangs, |errno| of_number(errno, facts))
}

fn of_number(errno: i32, facts: &Facts) -> Cause {
    match errno {
        libc::ENOENT | libc::ENXIO => missing(facts),
        libc::EACCES | libc::EPERM => denied(facts),
        libc::ENOKEY | libc::EKEYEXPIRED | libc::EKEYREVOKED | libc::EKEYREJECTED => {
            Cause::NoTicket
        }
        libc::EINVAL | libc::EOPNOTSUPP | libc::EPROTONOSUPPORT => Cause::BadOption,
        libc::EHOSTDOWN
        | libc::EINPROGRESS
        | libc::ETIMEDOUT
        | libc::ECONNREFUSED
        | libc::ECONNRESET
        | libc::ECONNABORTED
        | libc::EHOSTUNREACH
        | libc::ENETUNREACH
        | libc::ENOTCONN
        | libc::EAGAIN => Cause::ServerLost,
        libc::ENODEV => Cause::NoFilesystem,
        _ => Cause::Unclear,
    }
}

fn missing(facts: &Facts) -> Cause {
    if facts.is_fips && facts.who == Who::Key {
        return Cause::Fips;
    }
    match (facts.share, facts.in_folder) {
        (ShareSays::There, true) => Cause::FolderMissing,
        (ShareSays::There, false) => Cause::Unclear,
        (_, true) => Cause::FolderMissing,
        (_, false) => Cause::ShareMissing,
    }
}

fn denied(facts: &Facts) -> Cause {
    match (facts.protocol, facts.who) {
        (Protocol::Nfs, _) => Cause::NfsDenied,
        (_, Who::Ticket) => Cause::NoRole,
        _ if facts.is_fips => Cause::Fips,
        _ => Cause::Denied,
    }
}

impl Cause {
    /// Stable, in CamelCase, for health and metrics.
    #[must_use]
    pub fn reason(self) -> String {
        format!("{self:?}")
    }

    /// What it means, and what helps; one line.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoFilesystem => {
                "the kernel of this node has no client for the protocol (module cifs or nfsv4): load or install it"
            }
            Self::NameUnknown => {
                "the server's name does not resolve: check the account's name, the private DNS zone and its link to this network"
            }
            Self::ResolverSilent => "the DNS server does not answer",
            Self::PortBlocked => {
                "packets to the server's port are dropped: open outbound TCP 445 (SMB) or 2049 (NFS) in firewall and network security groups"
            }
            Self::PortRefused => "the server refuses the connection: nobody listens on its port",
            Self::HostUnreachable => "there is no network route to the server",
            Self::ShareMissing => "the share does not exist in the account",
            Self::FolderMissing => {
                "the directory does not exist in the share: create it, or set createFolderIfNotExist"
            }
            Self::KeyRefused => {
                "the account refuses the key: it was rotated or belongs to another account; update the Secret"
            }
            Self::KeysOff => {
                "the account does not allow access with keys: enable it, or mount with an identity"
            }
            Self::NetworkRule => {
                "a network rule of the account does not admit this node's subnet: add it, or use a private endpoint"
            }
            Self::NfsDenied => {
                "the server does not admit this node: its subnet is not in the account's network rules, or the account requires secure transfer (then set encryptInTransit)"
            }
            Self::NoTicket => {
                "there is no valid Kerberos ticket, or the node lacks cifs.upcall and its request-key rule"
            }
            Self::NoRole => {
                "the identity is not admitted: it needs the role 'Storage File Data SMB MI Admin', and the account SMB OAuth"
            }
            Self::Fips => {
                "the node allows only FIPS algorithms, and SMB with a key needs others: use NFS or an identity mount"
            }
            Self::Denied => {
                "the server refuses the login: wrong or rotated key, keys disabled, a network rule, or SMB security settings"
            }
            Self::BadOption => "the kernel does not accept a mount option or the protocol version",
            Self::ServerLost => "the server closed or lost the connection while it was mounted",
            Self::Hangs => {
                "the mount does not come back from the kernel; it goes on, and a retry waits for it"
            }
            Self::Unclear => "the cause is not known",
        }
    }

    /// What a caller can do about it.
    #[must_use]
    pub const fn fault(self) -> Fault {
        match self {
            Self::NoFilesystem | Self::Fips | Self::KeysOff => Fault::Precondition,
            Self::ShareMissing | Self::FolderMissing => Fault::NotFound,
            Self::KeyRefused
            | Self::NetworkRule
            | Self::NfsDenied
            | Self::NoRole
            | Self::Denied => Fault::Denied,
            Self::NoTicket => Fault::Unauthenticated,
            Self::BadOption => Fault::Invalid,
            Self::Hangs => Fault::Deadline,
            Self::NameUnknown
            | Self::ResolverSilent
            | Self::PortBlocked
            | Self::PortRefused
            | Self::HostUnreachable
            | Self::ServerLost => Fault::Unavailable,
            Self::Unclear => Fault::Internal,
        }
    }
}

#[cfg(test)]
mod tests;

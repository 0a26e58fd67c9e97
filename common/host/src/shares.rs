//! Mounting a share of a file server, with `mount(2)` itself.
//!
//! No helper program is started, so nothing has to be installed on the node, and the password is on
//! no command line and in no file: it is in the data of one system call (`mount.cifs(8)` and
//! `nfs(5)` describe the options; the kernel's `fs/smb/client/fs_context.c` and
//! `fs/nfs/fs_context.c` read them). The caller has resolved the server's name: the kernel wants an
//! address.
//!
//! [`ShareMounter`] is the one seam between a driver and the kernel's network filesystems. A kernel
//! without them can be stood in for by [`BindForTests`], which is named for what it is.

use std::ffi::CString;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use azcsi_types::clock::Clock;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use nix::libc;

use crate::error::HostError;
use crate::liveness::{Liveness, LivenessProbe};
use crate::mount::{MountOptions, Mounter, Write};
use crate::mountinfo::Mount;
use crate::net_probe::{self, Port, Resolved};
use crate::worker::Workers;

/// Longest data of `mount(2)`, in bytes: one page, with its terminator.
const DATA_LIMIT: usize = 4095;

/// The two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShareKind {
    /// SMB.
    Cifs,
    /// NFS, version 4.
    Nfs,
}

impl ShareKind {
    /// The name of the filesystem.
    #[must_use]
    pub const fn fs_type(self) -> &'static str {
        match self {
            Self::Cifs => "cifs",
            Self::Nfs => "nfs",
        }
    }

    /// The port that servers listen on.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Cifs => 445,
            Self::Nfs => 2049,
        }
    }

    /// Whether a mount table calls the filesystem by one of its names.
    #[must_use]
    pub fn is_type(self, fs_type: &str) -> bool {
        match self {
            Self::Cifs => matches!(fs_type, "cifs" | "smb3"),
            Self::Nfs => matches!(fs_type, "nfs" | "nfs4"),
        }
    }
}

/// Who mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// Nobody in particular: NFS.
    None,
    /// A user with a password; for Azure the account and its key.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: Secret,
    },
    /// The holder of a Kerberos ticket.
    Ticket {
        /// The owner of the cache that holds it.
        owner: u32,
        /// A name that is only shown.
        user: Option<String>,
    },
}

/// What to mount where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareMount {
    /// The protocol.
    pub kind: ShareKind,
    /// `//server/share/folder`, or `server:/path`.
    pub source: String,
    /// The address of the server.
    pub address: IpAddr,
    /// The folder.
    pub target: PathBuf,
    /// The options, without any of a login.
    pub options: MountOptions,
    /// Who mounts.
    pub login: Login,
}

/// A call that is running.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Mounts shares, and asks for their servers.
pub trait ShareMounter: fmt::Debug + Send + Sync {
    /// The addresses of a server.
    fn resolve<'a>(&'a self, host: &'a str, wait: Duration) -> Pending<'a, Resolved> {
        Box::pin(net_probe::resolve(host, wait))
    }

    /// Whether its port answers.
    fn knock(&self, address: IpAddr, port: u16, wait: Duration) -> Pending<'_, Port> {
        Box::pin(net_probe::knock(address, port, wait))
    }

    /// Whether the server behind a mount answers.
    fn ask<'a>(&'a self, path: &'a Path, wait: Duration) -> Pending<'a, Liveness>;

    /// Mounts one. After a time-out the call goes on, and the target is refused until it ends.
    fn mount<'a>(&'a self, op: &'a Op, wanted: ShareMount) -> Pending<'a, Result<(), HostError>>;

    /// Whether a mount is of this share, or of this folder in it.
    fn is_of(&self, mount: &Mount, kind: ShareKind, source: &str) -> bool;
}

/// The kernel's own network filesystems.
#[derive(Clone, Debug)]
pub struct KernelShares {
    clock: Arc<dyn Clock>,
    workers: Workers,
    probe: LivenessProbe,
}

impl KernelShares {
    /// With a set of busy paths of its own.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            workers: Workers::default(),
            probe: LivenessProbe::default(),
        }
    }
}

impl ShareMounter for KernelShares {
    fn ask<'a>(&'a self, path: &'a Path, wait: Duration) -> Pending<'a, Liveness> {
        Box::pin(self.probe.of(path, wait))
    }

    fn mount<'a>(&'a self, op: &'a Op, wanted: ShareMount) -> Pending<'a, Result<(), HostError>> {
        let wait = op.deadline().remaining(&*self.clock);
        let path = wanted.target.clone();
        Box::pin(async move {
            self.workers
                .run("mount", &path, wait, move || mount_now(&wanted))
                .await
        })
    }

    fn is_of(&self, mount: &Mount, kind: ShareKind, source: &str) -> bool {
        let shown = mount.source.to_string_lossy();
        // CIFS shows the folder of the share that is mounted as the root, too; NFS always a slash.
        let root = mount.root.to_string_lossy();
        let is_whole = root == "/" || (kind == ShareKind::Cifs && source.ends_with(&*root));
        kind.is_type(&mount.fs_type) && is_same(&shown, source) && is_whole
    }
}

/// Hosts ignore case, and a slash at the end means nothing.
fn is_same(one: &str, other: &str) -> bool {
    let normal = |text: &str| {
        let text = text.trim_end_matches('/').replace('\\', "/");
        let host = text.trim_start_matches('/');
        let end = host.find(['/', ':']).unwrap_or(host.len());
        (host[..end].to_ascii_lowercase(), host[end..].to_owned())
    };
    normal(one) == normal(other)
}

/// The data of the system call. It holds the password, and the login comes last, so that no option
/// before it can put another in its place.
fn data(wanted: &ShareMount, words: &str) -> Secret {
    let mut parts: Vec<String> = Vec::new();
    if wanted.kind == ShareKind::Cifs {
        parts.push(format!("ip={}", wanted.address));
    }
    if !words.is_empty() {
        parts.push(words.to_owned());
    }
    if wanted.kind == ShareKind::Nfs {
        parts.push(format!("addr={}", wanted.address));
    }
    match &wanted.login {
        Login::None => {}
        Login::Password { user, password } => {
            parts.push(format!("user={}", user.replace(',', ",,")));
            // The kernel reads a doubled separator as one character of the password.
            parts.push(format!("pass={}", password.expose().replace(',', ",,")));
        }
        Login::Ticket { owner, user } => {
            parts.push(format!("sec=krb5,cruid={owner},upcall_target=mount"));
            parts.extend(user.iter().map(|user| format!("user={user}")));
        }
    }
    let text = Secret::new(parts.join(","));
    for part in parts {
        drop(Secret::new(part));
    }
    text
}

fn mount_now(wanted: &ShareMount) -> Result<(), HostError> {
    let (flags, words) = wanted.options.for_kernel();
    let data = data(wanted, &words);
    let fail = |source| HostError::io("mount", &wanted.target, source);
    let invalid = |why| fail(io::Error::new(io::ErrorKind::InvalidInput, why));
    if data.expose().len() > DATA_LIMIT {
        return Err(invalid("the options are longer than a page"));
    }
    let no_nul = |_| invalid("it holds a NUL byte");
    let source = CString::new(wanted.source.as_bytes()).map_err(no_nul)?;
    let target = CString::new(wanted.target.as_os_str().as_bytes()).map_err(no_nul)?;
    let fs_type = CString::new(wanted.kind.fs_type()).map_err(no_nul)?;
    // Not into an error: that would carry the text.
    let data = CString::new(data.expose())
        .map_err(|error| wipe(error.into_vec()))
        .map_err(|()| invalid("the login holds a NUL byte"))?;
    let result = call(&source, &target, &fs_type, (flags.bits(), &data));
    wipe(data.into_bytes_with_nul());
    result.map_err(fail)
}

/// Overwrites what held a password.
fn wipe(mut bytes: Vec<u8>) {
    bytes.fill(0);
    std::hint::black_box(&bytes);
}

#[expect(
    unsafe_code,
    reason = "the safe wrappers copy the data, password and all, to memory that is not cleared"
)]
fn call(
    source: &CString,
    target: &CString,
    fs_type: &CString,
    (flags, data): (libc::c_ulong, &CString),
) -> io::Result<()> {
    // SAFETY: each pointer is to a C string that lives longer than the call.
    let result = unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            fs_type.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Stands in for a kernel without network filesystems: each share is a folder on this machine, and a
/// mount of it is a bind. For tests and for the simulator only; it asks nobody for a password.
#[derive(Clone, Debug)]
pub struct BindForTests {
    mounter: Mounter,
    folder: PathBuf,
    probe: LivenessProbe,
}

impl BindForTests {
    /// Shares are folders below `folder`.
    #[must_use]
    pub fn new(mounter: Mounter, folder: PathBuf) -> Self {
        Self {
            mounter,
            folder,
            probe: LivenessProbe::default(),
        }
    }

    /// The folder that stands in for a source.
    #[must_use]
    pub fn folder_of(&self, source: &str) -> PathBuf {
        self.folder.join(relative(source))
    }
}

/// `//server/share/folder` and `server:/account/share` as a path below the folder.
fn relative(source: &str) -> PathBuf {
    let plain = |part: &&str| !part.is_empty() && *part != "." && *part != "..";
    source.split(['/', ':']).filter(plain).collect()
}

impl ShareMounter for BindForTests {
    fn ask<'a>(&'a self, path: &'a Path, wait: Duration) -> Pending<'a, Liveness> {
        Box::pin(self.probe.of(path, wait))
    }

    fn resolve<'a>(&'a self, _: &'a str, _: Duration) -> Pending<'a, Resolved> {
        let here = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
        Box::pin(std::future::ready(Resolved::Addresses(vec![here])))
    }

    fn knock(&self, _: IpAddr, _: u16, _: Duration) -> Pending<'_, Port> {
        Box::pin(std::future::ready(Port::Open))
    }

    fn mount<'a>(&'a self, op: &'a Op, wanted: ShareMount) -> Pending<'a, Result<(), HostError>> {
        let folder = self.folder_of(&wanted.source);
        Box::pin(async move {
            std::fs::create_dir_all(&folder)
                .map_err(|source| HostError::io("make", &folder, source))?;
            let write = if wanted.options.is_read_only() {
                Write::Denied
            } else {
                Write::Allowed
            };
            self.mounter.bind(op, &folder, &wanted.target, write).await
        })
    }

    fn is_of(&self, mount: &Mount, _: ShareKind, source: &str) -> bool {
        mount.root.ends_with(relative(source))
    }
}

#[cfg(test)]
mod tests;

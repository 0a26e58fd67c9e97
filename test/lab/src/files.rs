//! The file server: Samba, or the kernel's NFS server, in a machine of its own, under the names
//! that an Azure storage account has.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use crate::machine::agent::Agent;
use crate::offer::{Account, Offer, Share};
use crate::wait::until;
use crate::wire::{RUN, Request};

/// The storage account of the plain mounts.
const ACCOUNT: &str = "labaccount";
/// Its key: 64 bytes in base64, as Azure's are.
const KEY: &str =
    "bGFiLWtleS1sYWIta2V5LWxhYi1rZXktbGFiLWtleS1sYWIta2V5LWxhYi1rZXktbGFiLWtleS1sYWIta2V5LQ==";
const HOST: &str = "labaccount.file.core.windows.net";
/// The file server's address on the network between the machines.
pub const ADDRESS: &str = "10.77.0.100";
const SHARE: &str = "share1";

/// Which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// SMB 3.1.1 with encryption.
    Smb,
    /// NFS 4.1.
    Nfs,
}

/// A running server.
#[derive(Clone, Debug)]
pub struct Server {
    protocol: Protocol,
    agent: Agent,
}

/// What the plain mounts use.
fn plain() -> Offer {
    Offer {
        accounts: vec![Account {
            name: ACCOUNT.to_owned(),
            key: KEY.to_owned(),
        }],
        shares: vec![Share {
            account: ACCOUNT.to_owned(),
            name: SHARE.to_owned(),
            path: format!("/srv/{SHARE}"),
            is_nfs: false,
        }],
    }
}

/// Attributes that a filesystem of the host does not keep are not asked of it, and locks stay in
/// Samba: the folder may be one that the host lends.
fn samba_configuration(offer: &Offer) -> String {
    let mut text = format!(
        "[global]\nserver role = standalone server\nserver min protocol = SMB3_11\n\
         server smb encrypt = required\nmap to guest = never\nload printers = no\n\
         disable spoolss = yes\nsmb ports = 445\nlog level = 1\nlog file = {RUN}/samba.log\n\
         pid directory = {RUN}\nlock directory = {RUN}/samba\nstate directory = {RUN}/samba\n\
         cache directory = {RUN}/samba\nncalrpc dir = {RUN}/samba/ncalrpc\n\
         private dir = {RUN}/samba/private\n\
         posix locking = no\nkernel oplocks = no\nkernel share modes = no\nea support = no\n\
         store dos attributes = no\nmap archive = no\n"
    );
    for share in offer.shares.iter().filter(|share| !share.is_nfs) {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[{}]\npath = {}\nread only = no\nforce user = root\nvalid users = {}\n",
            share.name, share.path, share.account
        );
    }
    text
}

impl Server {
    /// Starts it with one share, which keeps what is in it.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn start(agent: &Agent, protocol: Protocol) -> Result<Self> {
        let this = Self {
            protocol,
            agent: agent.clone(),
        };
        match protocol {
            Protocol::Smb => this.offer(&plain(), &Offer::default()).await?,
            Protocol::Nfs => this.prepare_nfs().await?,
        }
        this.restart().await?;
        Ok(this)
    }

    /// Has Samba offer these shares to these accounts from now on. Sessions that are there stay.
    ///
    /// # Errors
    /// When it cannot be set up.
    pub async fn offer(&self, offer: &Offer, before: &Offer) -> Result<()> {
        let folders =
            format!("mkdir -p {RUN}/samba/private {RUN}/samba/ncalrpc /var/log/samba /srv/{SHARE}");
        self.agent.shell(&folders).await?;
        self.put("/run/lab/smb.conf", samba_configuration(offer))
            .await?;
        for Account { name, key } in offer.fresh(before) {
            let line = format!(
                "{{ grep -q ^{name}: /etc/passwd || echo {name}:x:$((1000 + $(wc -l < /etc/passwd))):65534::/:/bin/false >> /etc/passwd; }} && \
                 printf '%s\\n%s\\n' '{key}' '{key}' | smbpasswd -c {RUN}/smb.conf -a -s {name}"
            );
            self.agent.shell(&line).await?;
        }
        self.agent.shell("pkill -HUP smbd || true").await.map(drop)
    }

    async fn put(&self, path: &str, text: String) -> Result<()> {
        let path = path.to_owned();
        self.agent.ask(&Request::Put { path, text }).await.map(drop)
    }

    async fn prepare_nfs(&self) -> Result<()> {
        let export = "/srv/nfs 10.77.0.0/24(rw,no_root_squash,insecure,no_subtree_check,fsid=0)\n";
        self.put("/etc/exports", export.to_owned()).await?;
        // The shortest grace and lease that the kernel takes: clients wait as long after a restart.
        let line = "mkdir -p /srv/nfs/share1 && modprobe nfsd && \
             { mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd; } && \
             { mountpoint -q /var/lib/nfs/rpc_pipefs || { mkdir -p /var/lib/nfs/rpc_pipefs && mount -t rpc_pipefs sunrpc /var/lib/nfs/rpc_pipefs; }; } && \
             echo 10 > /proc/fs/nfsd/nfsv4leasetime && echo 10 > /proc/fs/nfsd/nfsv4gracetime";
        self.agent.shell(line).await?;
        let start = Request::Start {
            name: "mountd".to_owned(),
            argv: ["rpc.mountd", "-F", "-N", "2", "-N", "3"]
                .map(str::to_owned)
                .to_vec(),
        };
        self.agent.ask(&start).await?;
        self.agent.shell("exportfs -ra").await.map(drop)
    }

    /// Starts what serves, and waits until its port answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn restart(&self) -> Result<()> {
        let port = match self.protocol {
            Protocol::Smb => {
                let argv = [
                    "smbd",
                    "-F",
                    "--no-process-group",
                    "-s",
                    "/run/lab/smb.conf",
                ];
                let start = Request::Start {
                    name: "smbd".to_owned(),
                    argv: argv.map(str::to_owned).to_vec(),
                };
                self.agent.ask(&start).await?;
                445
            }
            Protocol::Nfs => {
                self.agent.shell("rpc.nfsd -N 3 8").await?;
                2049
            }
        };
        let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        until("the file server", || async {
            let tried = self.agent.try_run(&["bash", "-c", &line]).await?;
            Ok((tried.code == 0).then_some(()))
        })
        .await
    }

    /// Kills what serves.
    ///
    /// # Errors
    /// When something of it stays.
    pub async fn kill(&self) -> Result<()> {
        match self.protocol {
            Protocol::Smb => {
                let ran = self.agent.try_run(&["pkill", "-9", "smbd"]).await?;
                ensure!(ran.code == 0, "no smbd was there");
                until("the end of smbd", || async {
                    let found = self
                        .agent
                        .try_run(&["pgrep", "smbd", "--runstates", "RSDI"])
                        .await?;
                    Ok((found.code != 0).then_some(()))
                })
                .await
            }
            Protocol::Nfs => self.agent.shell("rpc.nfsd 0").await.map(drop),
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// When something of it stays.
    pub async fn stop(&self) -> Result<()> {
        self.kill().await?;
        if self.protocol == Protocol::Nfs {
            let stop = Request::Stop {
                name: "mountd".to_owned(),
            };
            self.agent.ask(&stop).await?;
        }
        Ok(())
    }

    /// Mounts the share on a node.
    ///
    /// # Errors
    /// When it cannot be mounted.
    pub async fn mount(&self, node: &Agent, point: &str) -> Result<()> {
        let line = format!(
            "mkdir -p {point} && {{ grep -q {HOST} /etc/hosts || echo {ADDRESS} {HOST} >> /etc/hosts; }}"
        );
        node.shell(&line).await?;
        match self.protocol {
            Protocol::Smb => {
                let credentials = Request::Put {
                    path: format!("{RUN}/credentials"),
                    text: format!("username={ACCOUNT}\npassword={KEY}\n"),
                };
                node.ask(&credentials).await?;
                let options = format!(
                    "vers=3.1.1,seal,hard,credentials={RUN}/credentials,actimeo=1,echo_interval=1"
                );
                let source = format!("//{HOST}/{SHARE}");
                node.run(&["mount", "-t", "cifs", "-o", &options, &source, point])
                    .await
                    .map(drop)
            }
            Protocol::Nfs => {
                let source = format!("{HOST}:/share1");
                let options = "vers=4.1,hard,timeo=20,retrans=2,sec=sys";
                node.run(&["mount", "-t", "nfs", "-o", options, &source, point])
                    .await
                    .map(drop)
            }
        }
    }

    /// What the kernel's table of mounts has to say.
    #[must_use]
    pub const fn expected_options(&self) -> &'static [&'static str] {
        match self.protocol {
            Protocol::Smb => &["vers=3.1.1", "seal", "addr=10.77.0.100"],
            Protocol::Nfs => &["vers=4.1", "hard", "addr=10.77.0.100"],
        }
    }

    /// Whether a write that is under way when the server stops may fail. The kernel's SMB client lets
    /// it fail even on a hard mount; an NFS 4.1 client waits and repeats it.
    #[must_use]
    pub const fn may_fail_writes(&self) -> bool {
        matches!(self.protocol, Protocol::Smb)
    }

    /// What the kernel says when the server does not answer.
    #[must_use]
    pub const fn complaint(&self) -> &'static str {
        match self.protocol {
            Protocol::Smb => "CIFS: VFS:",
            Protocol::Nfs => "not responding, still trying",
        }
    }
}

//! One node whose shares are folders, and whose Azure is a table.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azcsi_host::liveness::Liveness;
use azcsi_host::net_probe::{Port, Resolved};
use azcsi_host::shares::{
    BindForTests, Login as HostLogin, Pending, ShareKind, ShareMount, ShareMounter,
};
use azcsi_host::state::StateStore;
use azcsi_host::{HostError, Roots};
use azcsi_proto::csi::v1;
use azcsi_rpc::{Dispatcher, Limits, SystemClock};
use azcsi_types::clock::Clock;
use azcsi_types::fault::Fault;
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use futures_util::future::{BoxFuture, ready};
use nix::libc;
use tonic::{Code, Status};
use v1::node_server::Node as _;
use v1::volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode};

use crate::node::cause::ShareSays;
use crate::node::ports::{Granted, Identity, KeyOf, Login, Ports, SecretRef, ShareRef, Unanswered};
use crate::node::service::NodeService;
use crate::node::{Node, NodeConfig, Powers};

pub(super) const ID: &str = "rg#acct1#share1###ns";

/// Kubernetes and Azure: what they hold, and what they were asked.
#[derive(Debug, Default)]
pub(super) struct Azure {
    pub(super) secrets: Mutex<BTreeMap<SecretRef, Login>>,
    pub(super) key: Mutex<Option<String>>,
    pub(super) says: Mutex<Option<ShareSays>>,
    pub(super) ticket: Mutex<Option<Vec<u8>>>,
    pub(super) token: Mutex<Option<String>>,
    pub(super) forbids: Mutex<bool>,
    pub(super) asked: Mutex<Vec<String>>,
}

impl Azure {
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(super) fn put_secret(&self, namespace: &str, name: &str, (user, key): (&str, &str)) {
        let at = SecretRef {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let login = Login {
            user: user.to_owned(),
            key: Secret::new(key),
        };
        self.secrets.lock().unwrap().insert(at, login);
    }

    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }
}

fn answer<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(ready(value))
}

impl Ports for Azure {
    fn secret<'a>(
        &'a self,
        _: &'a Op,
        of: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<Login>, Unanswered>> {
        self.note(format!("secret {}/{}", of.namespace, of.name));
        answer(Ok(self.secrets.lock().unwrap().get(of).cloned()))
    }

    fn token<'a>(
        &'a self,
        _: &'a Op,
        of: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<Secret>, Unanswered>> {
        self.note(format!("token {}/{}", of.namespace, of.name));
        let token = self.token.lock().unwrap().clone();
        answer(Ok(token.map(Secret::new)))
    }

    fn account_key<'a>(
        &'a self,
        _: &'a Op,
        of: &'a KeyOf,
        _: &'a Identity,
    ) -> BoxFuture<'a, Result<Secret, Unanswered>> {
        self.note(format!("key {}", of.account));
        let key = self.key.lock().unwrap().clone();
        let denied = || Unanswered::because("the identity may not list keys", Fault::Denied);
        answer(key.map(Secret::new).ok_or_else(denied))
    }

    fn ticket<'a>(
        &'a self,
        _: &'a Op,
        host: &'a str,
        by: &'a Identity,
    ) -> BoxFuture<'a, Result<Granted, Unanswered>> {
        let who = match by {
            Identity::Managed(client) => client.clone(),
            other => format!("{other:?}"),
        };
        self.note(format!("ticket {host} {who}"));
        let message = self.ticket.lock().unwrap().clone();
        let denied = || Unanswered::because("no role", Fault::Denied);
        answer(message.ok_or_else(denied).map(|message| Granted {
            message: Secret::from_bytes(message),
        }))
    }

    fn ask_share<'a>(
        &'a self,
        _: &'a Op,
        share: &'a ShareRef,
        _: &'a Secret,
    ) -> BoxFuture<'a, ShareSays> {
        self.note(format!("share {}", share.share));
        answer(self.says.lock().unwrap().unwrap_or(ShareSays::Unknown))
    }

    fn make_folder<'a>(
        &'a self,
        _: &'a Op,
        share: &'a ShareRef,
        _: &'a Secret,
    ) -> BoxFuture<'a, Result<(), Unanswered>> {
        self.note(format!("folder {:?}", share.folder));
        answer(Ok(()))
    }

    fn may_read<'a>(
        &'a self,
        _: &'a Op,
        (namespace, name): (&'a str, &'a str),
        of: &'a SecretRef,
    ) -> BoxFuture<'a, Result<bool, Unanswered>> {
        self.note(format!("review {namespace}/{name} {}", of.name));
        answer(Ok(!*self.forbids.lock().unwrap()))
    }
}

/// What the network and the kernel do.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) errno: Option<i32>,
    /// Keys that the server does not take.
    pub(super) refused: Vec<String>,
    pub(super) hangs: bool,
    pub(super) life: Liveness,
    pub(super) name: Resolved,
    pub(super) port: Port,
}

/// The stand-in, with trouble on demand; keeps what it was asked to mount.
#[derive(Debug)]
pub(super) struct Shares {
    binds: BindForTests,
    pub(super) trouble: Mutex<Trouble>,
    pub(super) mounts: Mutex<Vec<ShareMount>>,
}

impl Shares {
    pub(super) fn fails_with(&self, errno: i32) {
        self.trouble.lock().unwrap().errno = Some(errno);
    }

    pub(super) fn refuses(&self, keys: &[&str]) {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        self.trouble.lock().unwrap().refused = keys;
    }

    pub(super) fn lives(&self, life: Liveness) {
        self.trouble.lock().unwrap().life = life;
    }

    pub(super) fn works(&self) {
        self.trouble.lock().unwrap().errno = None;
    }

    pub(super) fn mounts(&self) -> Vec<ShareMount> {
        self.mounts.lock().unwrap().clone()
    }
}

impl ShareMounter for Shares {
    fn resolve<'a>(&'a self, _: &'a str, _: Duration) -> Pending<'a, Resolved> {
        answer(self.trouble.lock().unwrap().name.clone())
    }

    fn knock(&self, _: IpAddr, _: u16, _: Duration) -> Pending<'_, Port> {
        answer(self.trouble.lock().unwrap().port)
    }

    fn mount<'a>(&'a self, op: &'a Op, wanted: ShareMount) -> Pending<'a, Result<(), HostError>> {
        self.mounts.lock().unwrap().push(wanted.clone());
        let trouble = self.trouble.lock().unwrap();
        if trouble.hangs {
            return answer(Err(HostError::TimedOut {
                what: "mount".to_owned(),
            }));
        }
        let is_refused = match &wanted.login {
            HostLogin::Password { password, .. } => {
                trouble.refused.iter().any(|key| key == password.expose())
            }
            _ => false,
        };
        match trouble.errno.or(is_refused.then_some(libc::EACCES)) {
            Some(errno) => {
                let source = io::Error::from_raw_os_error(errno);
                answer(Err(HostError::io("mount", &wanted.target, source)))
            }
            None => self.binds.mount(op, wanted),
        }
    }

    fn ask<'a>(&'a self, _: &'a std::path::Path, _: Duration) -> Pending<'a, Liveness> {
        answer(self.trouble.lock().unwrap().life)
    }

    fn is_of(&self, mount: &azcsi_host::mountinfo::Mount, kind: ShareKind, source: &str) -> bool {
        self.binds.is_of(mount, kind, source)
    }
}

/// The node under test.
pub(super) struct Rig {
    pub(super) azure: Arc<Azure>,
    pub(super) shares: Arc<Shares>,
    pub(super) service: NodeService,
    config: NodeConfig,
    folder: tempfile::TempDir,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let table = azcsi_host::mountinfo::MountTable::new(&Roots::default());
        let table = table.read().unwrap();
        let ours = table
            .iter()
            .filter(|m| m.point.starts_with(self.folder.path()));
        let points: Vec<PathBuf> = ours.map(|mount| mount.point.clone()).collect();
        for point in points.iter().rev() {
            let _ = nix::mount::umount2(point, nix::mount::MntFlags::MNT_DETACH);
        }
    }
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut NodeConfig)) -> Self {
        assert!(
            nix::unistd::geteuid().is_root(),
            "these tests mount: run them as root"
        );
        let folder = tempfile::Builder::new()
            .prefix("azcsi-file")
            .tempdir()
            .unwrap();
        let azure = Arc::new(Azure::default());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let powers = Powers::new(&Roots::default(), Arc::clone(&clock));
        let binds = BindForTests::new(powers.mounter.clone(), folder.path().join("shares"));
        let shares = Arc::new(Shares {
            binds,
            trouble: Mutex::new(Trouble {
                errno: None,
                refused: Vec::new(),
                hangs: false,
                life: Liveness::Alive,
                name: Resolved::Addresses(vec!["127.0.0.1".parse().unwrap()]),
                port: Port::Open,
            }),
            mounts: Mutex::default(),
        });
        let mut config = NodeConfig {
            node_id: "node".to_owned(),
            tickets: folder.path().join("kerberos"),
            ..NodeConfig::default()
        };
        change(&mut config);
        let service = service(&config, (&azure, &shares), folder.path());
        Self {
            azure,
            shares,
            service,
            config,
            folder,
        }
    }

    /// The plugin starts anew, with what it has on the disk.
    pub(super) fn restart(&mut self) {
        let ports = (&self.azure, &self.shares);
        self.service = service(&self.config, ports, self.folder.path());
    }

    /// The same, with tunnels.
    pub(super) async fn with_tunnels(mut self) -> Self {
        azcsi_cloud::install_crypto_provider();
        let store = StateStore::open(&self.path("tunnels")).unwrap();
        let tunnels = crate::node::tunnel::Tunnels::new(store).unwrap();
        let node = node(
            &self.config,
            (&self.azure, &self.shares),
            self.folder.path(),
        );
        self.service = serve(node.with_tunnels(tunnels).await);
        self
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(super) async fn stage(&self, volume: &Volume) -> Result<(), Status> {
        let request = v1::NodeStageVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: self.text("staging"),
            volume_capability: Some(volume.capability()),
            secrets: volume.secrets.clone(),
            volume_context: volume.context.clone(),
            ..v1::NodeStageVolumeRequest::default()
        };
        let answer = self.service.node_stage_volume(tonic::Request::new(request));
        answer.await.map(drop)
    }

    pub(super) async fn publish(&self, volume: &Volume, target: &str) -> Result<(), Status> {
        let request = v1::NodePublishVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: self.text("staging"),
            target_path: self.text(target),
            volume_capability: Some(volume.capability()),
            secrets: volume.secrets.clone(),
            volume_context: volume.context.clone(),
            readonly: volume.read_only,
            ..v1::NodePublishVolumeRequest::default()
        };
        let answer = self
            .service
            .node_publish_volume(tonic::Request::new(request));
        answer.await.map(drop)
    }

    pub(super) async fn unpublish(&self, volume: &Volume, target: &str) -> Result<(), Status> {
        let request = v1::NodeUnpublishVolumeRequest {
            volume_id: volume.id.clone(),
            target_path: self.text(target),
        };
        let answer = self
            .service
            .node_unpublish_volume(tonic::Request::new(request));
        answer.await.map(drop)
    }

    pub(super) async fn unstage(&self, volume: &Volume) -> Result<(), Status> {
        let request = v1::NodeUnstageVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: self.text("staging"),
        };
        let answer = self
            .service
            .node_unstage_volume(tonic::Request::new(request));
        answer.await.map(drop)
    }

    pub(super) async fn health(&self, volume: &Volume) -> Vec<String> {
        let request = v1::NodeGetVolumeHealthRequest {
            volume_id: volume.id.clone(),
            ..v1::NodeGetVolumeHealthRequest::default()
        };
        let answer = self
            .service
            .node_get_volume_health(tonic::Request::new(request));
        let health = answer.await.unwrap().into_inner().volume_health.unwrap();
        let entries = health.health_statuses.into_iter();
        entries.map(|entry| entry.reason).collect()
    }
}

fn service(
    config: &NodeConfig,
    ports: (&Arc<Azure>, &Arc<Shares>),
    folder: &std::path::Path,
) -> NodeService {
    serve(node(config, ports, folder))
}

fn serve(node: Node) -> NodeService {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    NodeService::new(Arc::new(node), Dispatcher::new(clock, Limits::default()))
}

fn node(
    config: &NodeConfig,
    (azure, shares): (&Arc<Azure>, &Arc<Shares>),
    folder: &std::path::Path,
) -> Node {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut powers = Powers::new(&Roots::default(), Arc::clone(&clock));
    powers.shares = shares.clone();
    let state = StateStore::open(&folder.join("state")).unwrap();
    let ports: Arc<dyn Ports> = azure.clone();
    Node::new(config.clone(), clock, ports, powers, state)
}

/// A volume and how it is asked for.
#[derive(Clone, Debug)]
pub(super) struct Volume {
    pub(super) id: String,
    pub(super) context: HashMap<String, String>,
    pub(super) secrets: HashMap<String, String>,
    pub(super) flags: Vec<String>,
    pub(super) group: String,
    pub(super) mode: Mode,
    pub(super) read_only: bool,
}

pub(super) fn map(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

pub(super) fn smb() -> Volume {
    Volume {
        id: ID.to_owned(),
        context: HashMap::new(),
        secrets: map(&[("accountname", "acct1"), ("accountkey", "a2V5\n")]),
        flags: Vec::new(),
        group: String::new(),
        mode: Mode::MultiNodeMultiWriter,
        read_only: false,
    }
}

pub(super) fn nfs() -> Volume {
    Volume {
        context: map(&[("protocol", "nfs")]),
        secrets: HashMap::new(),
        ..smb()
    }
}

impl Volume {
    pub(super) fn with(mut self, pairs: &[(&str, &str)]) -> Self {
        self.context.extend(map(pairs));
        self
    }

    fn capability(&self) -> v1::VolumeCapability {
        v1::VolumeCapability {
            access_mode: Some(AccessMode {
                mode: self.mode.into(),
            }),
            access_type: Some(AccessType::Mount(MountVolume {
                mount_flags: self.flags.clone(),
                volume_mount_group: self.group.clone(),
                ..MountVolume::default()
            })),
        }
    }
}

pub(super) fn code<T: std::fmt::Debug>(answer: Result<T, Status>) -> Code {
    answer.map_or_else(|status| status.code(), |_| Code::Ok)
}

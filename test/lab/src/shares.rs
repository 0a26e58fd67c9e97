//! The File driver in the lab: its controller, the shares of the simulator on real servers, and a
//! volume's life over CSI.
//!
//! The simulator makes shares and keys; it exports nothing. [`Lab::settle_shares`] reads its world
//! and has the servers follow: shares come and go, a key that was rotated is the password from then
//! on, and sessions with the old one end.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use azcsi_proto::csi::v1::{
    CapacityRange, CreateVolumeRequest, DeleteVolumeRequest, NodeGetVolumeHealthRequest,
    NodeGetVolumeStatsRequest, NodePublishVolumeRequest, NodeStageVolumeRequest,
    NodeUnpublishVolumeRequest, NodeUnstageVolumeRequest, VolumeCapability, VolumeUsage,
    volume_capability::AccessMode, volume_capability::AccessType, volume_capability::MountVolume,
    volume_capability::access_mode::Mode, volume_usage::Unit,
};
use azcsi_rig::csi::{Driver, reply};
use azcsi_rig::process::Process;
use serde_json::json;

use crate::files::{ADDRESS, Protocol, Server};
use crate::lab::{Lab, SCSI, args, text};
use crate::offer::{NFS_ROOT, Offer, SMB_ROOT};
use crate::wire::{Request, SHARES_TAG, Span};

const PLUGIN: &str = "/var/lib/kubelet/plugins/kubernetes.io/csi/file.csi.azure.com";
const GIB: i64 = 1 << 30;

/// The File driver's controller, and the servers of the shares.
#[derive(Debug)]
pub struct Shares {
    /// The controller.
    pub controller: Driver,
    smb: Server,
    nfs: Server,
    offer: Offer,
}

impl Shares {
    /// The server of a protocol.
    #[must_use]
    pub const fn server(&self, protocol: Protocol) -> &Server {
        match protocol {
            Protocol::Smb => &self.smb,
            Protocol::Nfs => &self.nfs,
        }
    }
}

/// A volume of the File driver.
#[derive(Clone, Debug)]
pub struct ShareVolume {
    /// Its name in the case.
    pub name: String,
    /// Its id.
    pub id: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// What is handed to the node with it.
    pub secrets: HashMap<String, String>,
    context: HashMap<String, String>,
}

impl ShareVolume {
    fn part(&self, index: usize) -> String {
        let part = self.id.split('#').nth(index);
        part.unwrap_or_default().to_owned()
    }

    /// Its account.
    #[must_use]
    pub fn account(&self) -> String {
        self.part(1)
    }

    /// Where it is staged.
    #[must_use]
    pub fn staging(&self) -> String {
        format!("{PLUGIN}/{}/globalmount", self.name)
    }

    /// Where a pod finds it.
    #[must_use]
    pub fn target(&self, pod: &str) -> String {
        let name = &self.name;
        format!("/var/lib/kubelet/pods/{name}-{pod}/volumes/kubernetes.io~csi/{name}/mount")
    }

    /// A pattern in a file of it, as a pod sees it.
    #[must_use]
    pub fn span(&self, pod: &str, file: &str, seed: u64) -> Span {
        Span {
            path: format!("{}/{file}", self.target(pod)),
            offset: 0,
            length: 4 << 20,
            seed,
        }
    }
}

fn capability() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        access_mode: Some(AccessMode {
            mode: Mode::MultiNodeMultiWriter.into(),
        }),
    }
}

impl Lab {
    /// The File driver with its servers; started when they are not there.
    ///
    /// # Errors
    /// When one does not come up.
    pub async fn shares(&mut self) -> Result<&Shares> {
        self.power_files().await?;
        if self.shares.is_none() {
            let shares = Shares {
                controller: self.file_controller().await?,
                smb: Server::start(&self.files.agent, Protocol::Smb).await?,
                nfs: Server::start(&self.files.agent, Protocol::Nfs).await?,
                offer: Offer::default(),
            };
            self.shares = Some(shares);
        }
        for node in &mut self.nodes {
            node.start_file_driver().await?;
        }
        self.shares.as_ref().context("just started")
    }

    /// Switches the file server's machine on, if it is off.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn power_files(&mut self) -> Result<()> {
        if self.files.has_power() {
            return Ok(());
        }
        self.files.power_on().await?;
        self.mount_contents().await
    }

    /// In the file server's machine: the simulator's folder, and the data plane on its port.
    async fn mount_contents(&self) -> Result<()> {
        let agent = &self.files.agent;
        let line = format!(
            "mkdir -p {SMB_ROOT} && modprobe 9pnet_virtio && \
             mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=262144 {SHARES_TAG} {SMB_ROOT}"
        );
        agent.shell(&line).await?;
        let node = &self.endpoints["nodes"][SCSI]["files"];
        let port = node.as_str().and_then(|url| url.rsplit(':').next());
        let port = port.and_then(|port| port.trim_end_matches('/').parse().ok());
        let relay = Request::Relay {
            listen: format!("{ADDRESS}:443"),
            port: port.context("the simulator's data plane for the node")?,
        };
        agent.ask(&relay).await.map(drop)
    }

    /// Where the File driver's controller serves.
    pub(crate) fn file_controller_socket(&self) -> PathBuf {
        self.place.dir.join("file-controller.sock")
    }

    async fn file_controller(&self) -> Result<Driver> {
        let socket = self.file_controller_socket();
        let endpoint = format!("unix://{}", socket.display());
        let list = args([
            "controller",
            "--endpoint",
            &endpoint,
            "--cloud-config",
            &text(&self.endpoints, "fileControllerConfig")?,
            "--allow-empty-cloud-config=false",
            "--kubeconfig",
            &text(&self.endpoints, "kubeconfig")?,
            "--enable-list-snapshots=true",
            "-v=5",
        ]);
        let program = self.place.bin.join("azurefile-csi");
        let logs = self.place.logs();
        let process = Process::start("file-controller", &program, &list, &logs)?;
        Driver::connect(process, &socket).await
    }

    /// Has the servers offer what the simulator has.
    ///
    /// # Errors
    /// When a server does not follow.
    pub async fn settle_shares(&mut self) -> Result<()> {
        let now = Offer::of(&self.state().await?)?;
        let shares = self.shares.as_mut().context("no servers yet")?;
        let before = &shares.offer;
        let agent = &self.files.agent;
        if now.fresh(before).next().is_some() || !now.has_same_shares(before, false) {
            shares.smb.offer(&now, before).await?;
        }
        for gone in now.gone(before) {
            let line = format!(
                "smbcontrol -s /run/lab/smb.conf smbd close-share {}",
                gone.name
            );
            agent.shell(&line).await?;
        }
        if now.has_new_keys(before) {
            shares.smb.kill().await?;
            shares.smb.restart().await?;
        }
        if !now.has_same_shares(before, true) {
            agent.shell(&nfs_folders(&now)).await?;
        }
        for account in now.fresh(before) {
            let host = format!("{}.file.core.windows.net", account.name);
            let line =
                format!("grep -q ' {host}$' /etc/hosts || echo {ADDRESS} {host} >> /etc/hosts");
            for node in &self.nodes {
                node.machine.agent.shell(&line).await?;
            }
        }
        shares.offer = now;
        Ok(())
    }

    /// Rotates a key in Azure; servers and their sessions follow.
    ///
    /// # Errors
    /// When that does not work.
    pub async fn rotate_key(&mut self, account: &str) -> Result<()> {
        let path = format!("/_sim/accounts/{account}/rotate-key");
        self.control.post(&path, &json!({"key": "key1"})).await?;
        self.settle_shares().await
    }

    /// CreateVolume; its share is then on its server.
    ///
    /// # Errors
    /// The status.
    pub async fn create_share(
        &mut self,
        name: &str,
        protocol: Protocol,
        parameters: &[(&str, &str)],
    ) -> Result<ShareVolume> {
        let kind = match protocol {
            Protocol::Smb => ("protocol", "smb"),
            Protocol::Nfs => ("protocol", "nfs"),
        };
        let parameters = parameters.iter().chain([&kind]);
        let parameters = parameters.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let request = CreateVolumeRequest {
            name: format!("pvc-lab-{name}"),
            capacity_range: Some(CapacityRange {
                required_bytes: 100 * GIB,
                limit_bytes: 0,
            }),
            volume_capabilities: vec![capability()],
            parameters: parameters.collect(),
            ..CreateVolumeRequest::default()
        };
        let mut controller = self.shares().await?.controller.controller();
        let volume = reply("CreateVolume", controller.create_volume(request).await)?
            .volume
            .context("no volume in the reply")?;
        self.settle_shares().await?;
        Ok(ShareVolume {
            name: name.to_owned(),
            id: volume.volume_id,
            protocol,
            secrets: HashMap::new(),
            context: volume.volume_context,
        })
    }

    /// DeleteVolume; its share is then gone from its server.
    ///
    /// # Errors
    /// The status.
    pub async fn delete_share(&mut self, volume: &ShareVolume) -> Result<()> {
        let request = DeleteVolumeRequest {
            volume_id: volume.id.clone(),
            ..DeleteVolumeRequest::default()
        };
        let mut controller = self.shares().await?.controller.controller();
        reply("DeleteVolume", controller.delete_volume(request).await)?;
        self.settle_shares().await
    }

    /// NodeStageVolume; the inner error is the driver's answer.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn try_stage_share(
        &self,
        volume: &ShareVolume,
        node: usize,
    ) -> Result<Result<(), tonic::Status>> {
        let node = self.node(node)?;
        let staging = volume.staging();
        node.machine.agent.run(&["mkdir", "-p", &staging]).await?;
        let request = NodeStageVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: staging,
            volume_capability: Some(capability()),
            volume_context: volume.context.clone(),
            secrets: volume.secrets.clone(),
            ..NodeStageVolumeRequest::default()
        };
        Ok(node.file_csi().node_stage_volume(request).await.map(drop))
    }

    /// NodePublishVolume for a pod; the inner error is the driver's answer.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn try_publish_share(
        &self,
        volume: &ShareVolume,
        node: usize,
        pod: &str,
    ) -> Result<Result<(), tonic::Status>> {
        let node = self.node(node)?;
        let target = volume.target(pod);
        let parent = target.rsplit_once('/').map_or("/", |(parent, _)| parent);
        node.machine.agent.run(&["mkdir", "-p", parent]).await?;
        let request = NodePublishVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: volume.staging(),
            target_path: target,
            volume_capability: Some(capability()),
            volume_context: volume.context.clone(),
            secrets: volume.secrets.clone(),
            ..NodePublishVolumeRequest::default()
        };
        Ok(node.file_csi().node_publish_volume(request).await.map(drop))
    }

    /// Stages and publishes.
    ///
    /// # Errors
    /// The status of the step that failed.
    pub async fn mount_share(&self, volume: &ShareVolume, node: usize, pod: &str) -> Result<()> {
        answer("NodeStageVolume", self.try_stage_share(volume, node).await?)?;
        let published = self.try_publish_share(volume, node, pod).await?;
        answer("NodePublishVolume", published)
    }

    /// NodeUnpublishVolume.
    ///
    /// # Errors
    /// The status.
    pub async fn unpublish_share(
        &self,
        volume: &ShareVolume,
        node: usize,
        pod: &str,
    ) -> Result<()> {
        let request = NodeUnpublishVolumeRequest {
            volume_id: volume.id.clone(),
            target_path: volume.target(pod),
        };
        let mut csi = self.node(node)?.file_csi();
        reply(
            "NodeUnpublishVolume",
            csi.node_unpublish_volume(request).await,
        )
        .map(drop)
    }

    /// NodeUnpublishVolume and NodeUnstageVolume; nothing of the volume is mounted then.
    ///
    /// # Errors
    /// The status.
    pub async fn unmount_share(&self, volume: &ShareVolume, node: usize, pod: &str) -> Result<()> {
        self.unpublish_share(volume, node, pod).await?;
        let request = NodeUnstageVolumeRequest {
            volume_id: volume.id.clone(),
            staging_target_path: volume.staging(),
        };
        let node = self.node(node)?;
        let mut csi = node.file_csi();
        reply("NodeUnstageVolume", csi.node_unstage_volume(request).await)?;
        node.has_no_mount(&volume.name).await
    }

    /// What NodeGetVolumeHealth finds: stable reasons.
    ///
    /// # Errors
    /// The status.
    pub async fn share_health(
        &self,
        volume: &ShareVolume,
        node: usize,
        pod: &str,
    ) -> Result<Vec<String>> {
        let request = NodeGetVolumeHealthRequest {
            volume_id: volume.id.clone(),
            volume_publish_path: volume.target(pod),
            staging_target_path: volume.staging(),
        };
        let mut csi = self.node(node)?.file_csi();
        let health = reply(
            "NodeGetVolumeHealth",
            csi.node_get_volume_health(request).await,
        )?;
        let found = health.volume_health.into_iter();
        let found = found.flat_map(|health| health.health_statuses);
        Ok(found.map(|status| status.reason).collect())
    }

    /// The size that NodeGetVolumeStats tells.
    ///
    /// # Errors
    /// The status.
    pub async fn share_bytes(&self, volume: &ShareVolume, node: usize, pod: &str) -> Result<i64> {
        let request = NodeGetVolumeStatsRequest {
            volume_id: volume.id.clone(),
            volume_path: volume.target(pod),
            staging_target_path: volume.staging(),
        };
        let mut csi = self.node(node)?.file_csi();
        let stats = reply(
            "NodeGetVolumeStats",
            csi.node_get_volume_stats(request).await,
        )?;
        let is_bytes = |usage: &&VolumeUsage| usage.unit() == Unit::Bytes;
        Ok(stats
            .usage
            .iter()
            .find(is_bytes)
            .map_or(0, |usage| usage.total))
    }
}

/// The driver's answer as an error that names the call.
///
/// # Errors
/// The status.
pub fn answer(rpc: &str, result: Result<(), tonic::Status>) -> Result<()> {
    reply(rpc, result.map(tonic::Response::new))
}

/// A line for the shell: a folder for each NFS share, and no others.
fn nfs_folders(offer: &Offer) -> String {
    let wanted: Vec<&str> = offer
        .shares
        .iter()
        .filter(|share| share.is_nfs)
        .map(|share| share.path.as_str())
        .collect();
    let known = wanted.join(" ");
    format!(
        "for path in {NFS_ROOT}/*/*; do case \" {known} \" in *\" $path \"*) ;; *) rm -rf \"$path\";; esac; done; \
         for path in {known}; do mkdir -p -m 0777 \"$path\"; done"
    )
}

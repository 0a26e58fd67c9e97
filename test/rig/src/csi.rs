//! CSI clients over private Unix sockets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use azcsi_proto::csi::v1::controller_client::ControllerClient;
use azcsi_proto::csi::v1::identity_client::IdentityClient;
use azcsi_proto::csi::v1::node_client::NodeClient;
use azcsi_proto::csi::v1::{
    ProbeRequest, VolumeCapability, volume_capability::AccessMode, volume_capability::AccessType,
    volume_capability::BlockVolume, volume_capability::MountVolume,
    volume_capability::access_mode::Mode,
};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};

use crate::process::Process;

/// A driver's socket, and the process behind it.
#[derive(Debug)]
pub struct Driver {
    /// The process.
    pub process: Process,
    channel: Channel,
    ready_after: Duration,
}

/// How often and how long to look for a driver that has just been started.
const STEP: Duration = Duration::from_millis(1);
const STEPS: u32 = 20_000;

impl Driver {
    /// Connects to a driver that was just started, and waits until its Probe says ready.
    pub async fn connect(mut process: Process, socket: &Path) -> Result<Self> {
        let path: PathBuf = socket.to_owned();
        let channel =
            Endpoint::from_static("http://csi.sock").connect_with_connector_lazy(
                tower::service_fn(move |_: Uri| {
                    let path = path.clone();
                    async move {
                        Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(path).await?))
                    }
                }),
            );
        #[expect(clippy::disallowed_methods, reason = "a stopwatch for people")]
        let began = std::time::Instant::now();
        for _ in 0..STEPS {
            process.check()?;
            let probe = IdentityClient::new(channel.clone())
                .probe(ProbeRequest {})
                .await;
            if probe.is_ok_and(|reply| reply.into_inner().ready != Some(false)) {
                return Ok(Self {
                    process,
                    channel,
                    ready_after: began.elapsed(),
                });
            }
            tokio::time::sleep(STEP).await;
        }
        process.check()?;
        anyhow::bail!("{} does not become ready", socket.display())
    }

    /// How long it took from the start to the first good Probe.
    #[must_use]
    pub const fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The Identity service.
    #[must_use]
    pub fn identity(&self) -> IdentityClient<Channel> {
        IdentityClient::new(self.channel.clone())
    }

    /// The Controller service.
    pub fn controller(&self) -> ControllerClient<Channel> {
        ControllerClient::new(self.channel.clone())
    }

    /// The Node service.
    pub fn node(&self) -> NodeClient<Channel> {
        NodeClient::new(self.channel.clone())
    }
}

/// A filesystem for one node.
pub fn filesystem(fs_type: &str) -> VolumeCapability {
    let mount = MountVolume {
        fs_type: fs_type.to_owned(),
        ..MountVolume::default()
    };
    capability(AccessType::Mount(mount), Mode::SingleNodeWriter)
}

/// A raw device for one node.
pub fn block() -> VolumeCapability {
    capability(AccessType::Block(BlockVolume {}), Mode::SingleNodeWriter)
}

/// A raw device that several nodes write.
pub fn shared_block() -> VolumeCapability {
    capability(
        AccessType::Block(BlockVolume {}),
        Mode::MultiNodeMultiWriter,
    )
}

fn capability(access: AccessType, mode: Mode) -> VolumeCapability {
    VolumeCapability {
        access_type: Some(access),
        access_mode: Some(AccessMode { mode: mode.into() }),
    }
}

/// The reply, or the status as an error that names the call.
pub fn reply<T>(rpc: &str, result: Result<tonic::Response<T>, tonic::Status>) -> Result<T> {
    result
        .map(tonic::Response::into_inner)
        .map_err(|status| anyhow::anyhow!("{:?}: {}", status.code(), status.message()))
        .with_context(|| rpc.to_owned())
}

//! Tests of `registrar`: a stand-in for kubelet talks to it over the real socket.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use azcsi_proto::pluginregistration as wire;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use super::keeper::{Keeper, State};
use super::{Counts, Held, Registrar};
use crate::metrics::Metrics;

const DRIVER: &str = "disk.csi.azure.com";
const PREFIX: &str = "azuredisk_csi_driver";

fn registrar(folder: &Path) -> Registrar {
    Registrar {
        driver: DRIVER.to_owned(),
        endpoint: PathBuf::from("/var/lib/kubelet/plugins/disk.csi.azure.com/csi.sock"),
        folder: folder.to_owned(),
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("disk.csi.azure.com-reg.sock")
}

struct Rig {
    folder: tempfile::TempDir,
    metrics: Arc<Metrics>,
    keeper: Keeper,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let metrics = Metrics::new(PREFIX);
        let counts = Counts::shown(&metrics, PREFIX);
        let keeper = Keeper::new(registrar(folder.path()), Held::default(), counts);
        Self {
            folder,
            metrics,
            keeper,
        }
    }

    fn socket(&self) -> PathBuf {
        socket(self.folder.path())
    }
}

/// One call as kubelet makes it: no name of the server, so that the path is the authority.
async fn call(socket: &Path, method: &str, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket).await?;
    let path = format!("/pluginregistration.Registration/{method}");
    let authority = socket.display().to_string().replace('/', "%2F");
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", &path),
        (":authority", &authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        for (first, text) in [(Some(0), name), (None, value)] {
            block.extend(first);
            assert!(
                text.len() < 127,
                "the folder for temporary files is too deep"
            );
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.bytes());
        }
    }
    let length = u8::try_from(request.len()).unwrap();
    let message = [&[0, 0, 0, 0, length], request].concat();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    for (kind, flags, stream, payload) in
        [(4, 0, 0, &[][..]), (1, 4, 1, &block), (0, 1, 1, &message)]
    {
        let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
        bytes.extend([0, length[0], length[1], kind, flags, 0, 0, 0, stream]);
        bytes.extend(payload);
    }
    stream.write_all(&bytes).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).await?;
        match head[3] {
            0 => return Ok(payload[5..].to_vec()),
            3 | 7 => return Err(io::Error::other("the server resets the call")),
            _ => {}
        }
    }
}

async fn info(socket: &Path) -> io::Result<wire::PluginInfo> {
    let reply = call(socket, "GetInfo", &[]).await?;
    Ok(wire::PluginInfo::decode(&reply[..]).unwrap())
}

#[tokio::test]
async fn kubelet_learns_who_the_driver_is_and_where_it_answers() {
    let mut rig = Rig::new();
    assert_eq!(*rig.keeper.look().await, State::Ours);
    let info = info(&rig.socket()).await.unwrap();
    assert_eq!(
        info,
        wire::PluginInfo {
            r#type: "CSIPlugin".to_owned(),
            name: DRIVER.to_owned(),
            endpoint: "/var/lib/kubelet/plugins/disk.csi.azure.com/csi.sock".to_owned(),
            supported_versions: vec!["1.0.0".to_owned()],
        }
    );
    let names = std::fs::read_dir(rig.folder.path()).unwrap().count();
    assert_eq!(
        names, 1,
        "kubelet's folder holds the socket and nothing else"
    );
}

#[tokio::test]
async fn what_became_of_it_is_counted_and_a_refusal_ends_nothing() {
    let mut rig = Rig::new();
    rig.keeper.look().await;
    for (registered, gauge, counted) in [
        (false, "kubelet_registered 0", "success=\"false\"} 1"),
        (true, "kubelet_registered 1", "success=\"true\"} 1"),
        (false, "kubelet_registered 0", "success=\"false\"} 2"),
    ] {
        let status = wire::RegistrationStatus {
            plugin_registered: registered,
            error: String::new(),
        };
        let request = status.encode_to_vec();
        call(&rig.socket(), "NotifyRegistrationStatus", &request)
            .await
            .unwrap();
        let shown = rig.metrics.render();
        assert!(shown.contains(gauge), "{shown}");
        let counted = format!("{PREFIX}_kubelet_registrations_total{{{counted}");
        assert!(shown.contains(&counted), "{shown}");
    }
    assert_eq!(*rig.keeper.look().await, State::Ours);
}

#[tokio::test]
async fn a_client_that_names_its_server_is_answered_too() {
    let mut rig = Rig::new();
    rig.keeper.look().await;
    let uri = format!("unix://{}", rig.socket().display());
    let channel = tonic::transport::Endpoint::from_shared(uri).unwrap();
    let channel = channel.connect().await.unwrap();
    let mut client = wire::registration_client::RegistrationClient::new(channel);
    for _ in 0..3 {
        let info = client.get_info(wire::InfoRequest {}).await.unwrap();
        assert_eq!(info.into_inner().name, DRIVER);
    }
}

#[tokio::test]
async fn the_socket_comes_back_when_the_folder_was_emptied_or_made_anew() {
    let mut rig = Rig::new();
    rig.keeper.look().await;
    std::fs::remove_file(rig.socket()).unwrap();
    assert_eq!(*rig.keeper.look().await, State::Ours);
    info(&rig.socket()).await.unwrap();

    let folder = rig.folder.path().to_owned();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(rig.keeper.look().await, State::Hindered(_)));
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(*rig.keeper.look().await, State::Ours);
    info(&rig.socket()).await.unwrap();
}

#[tokio::test]
async fn a_socket_that_a_killed_process_left_is_replaced() {
    let mut rig = Rig::new();
    drop(UnixListener::bind(rig.socket()).unwrap());
    assert!(UnixStream::connect(rig.socket()).await.is_err());
    assert_eq!(*rig.keeper.look().await, State::Ours);
    info(&rig.socket()).await.unwrap();
}

#[tokio::test]
async fn a_foreign_registrar_is_left_alone_for_as_long_as_it_serves() {
    use std::os::unix::fs::MetadataExt as _;
    let mut rig = Rig::new();
    let foreign = UnixListener::bind(rig.socket()).unwrap();
    let inode = rig.socket().metadata().unwrap().ino();
    for _ in 0..3 {
        assert_eq!(*rig.keeper.look().await, State::Another);
    }
    assert_eq!(rig.socket().metadata().unwrap().ino(), inode);
    // It ends and leaves its file behind.
    drop(foreign);
    assert_eq!(*rig.keeper.look().await, State::Ours);
    info(&rig.socket()).await.unwrap();
}

#[tokio::test]
async fn a_foreign_registrar_that_takes_the_name_gets_it() {
    let mut rig = Rig::new();
    rig.keeper.look().await;
    // The sidecar removes whatever lies there when it starts.
    std::fs::remove_file(rig.socket()).unwrap();
    let foreign = UnixListener::bind(rig.socket()).unwrap();
    assert_eq!(*rig.keeper.look().await, State::Another);
    let (_kept, path) = (foreign, rig.socket());
    drop(rig.keeper);
    assert!(path.exists(), "the file is the other one's");
}

#[tokio::test]
async fn what_is_no_socket_is_never_removed() {
    let mut rig = Rig::new();
    std::fs::write(rig.socket(), "notes").unwrap();
    assert!(matches!(rig.keeper.look().await, State::Hindered(_)));
    assert_eq!(std::fs::read(rig.socket()).unwrap(), b"notes");
}

#[tokio::test]
async fn only_root_can_connect() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut rig = Rig::new();
    rig.keeper.look().await;
    let mode = rig.socket().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn the_end_of_the_process_takes_its_own_file_along_and_no_successors() {
    let folder = tempfile::tempdir().unwrap();
    let start = || registrar(folder.path()).start(&Metrics::new(PREFIX), PREFIX);
    let bound = async || {
        while info(&socket(folder.path())).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    let first = start();
    bound().await;
    drop(first);
    assert!(!socket(folder.path()).exists());

    let first = start();
    bound().await;
    std::fs::remove_file(socket(folder.path())).unwrap();
    let successor = start();
    bound().await;
    drop(first);
    info(&socket(folder.path())).await.unwrap();
    drop(successor);
}

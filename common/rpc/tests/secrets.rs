//! No secret reaches the log, whatever becomes of the call.
//!
//! A process of its own: what a thread logs depends on the subscribers of all threads.

#![cfg(test)]

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use azcsi_proto::csi::v1;
use azcsi_rpc::{Dispatcher, GuardKey, Handler, Limits, Method, Scope, SystemClock, logging};
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;
use tokio::sync::Semaphore;
use tonic::{Code, Request, Status};

const SECRET: &str = "hunter2-c0ffee";

#[derive(Debug, thiserror::Error)]
#[error("the account refused the key")]
struct Refused;

impl Faulty for Refused {
    fn fault(&self) -> Fault {
        Fault::Denied
    }
}

/// Stages a volume when the test lets it, if the volume's id says so.
#[derive(Debug)]
struct Stage;

impl Handler for Stage {
    type Ctx = Semaphore;
    type Wire = v1::NodeStageVolumeRequest;
    type WireReply = v1::NodeStageVolumeResponse;
    type Request = v1::NodeStageVolumeRequest;
    type Reply = ();
    type Error = Refused;

    const METHOD: Method = Method::NodeStageVolume;

    fn decode(_: &Semaphore, wire: Self::Wire) -> Result<Self::Request, Refused> {
        Ok(wire)
    }

    fn scope(request: &Self::Request) -> Scope {
        let guards = vec![GuardKey::new("volume", &request.volume_id)];
        Scope::Operation {
            guards,
            fingerprint: request.secrets["key"].clone(),
        }
    }

    async fn run(go: Arc<Semaphore>, request: Self::Request, _: Op) -> Result<(), Refused> {
        go.acquire().await.unwrap().forget();
        if request.volume_id == "good" {
            Ok(())
        } else {
            Err(Refused)
        }
    }

    fn encode((): ()) -> Self::WireReply {
        v1::NodeStageVolumeResponse {}
    }
}

fn request(volume: &str) -> Request<v1::NodeStageVolumeRequest> {
    let mount = v1::volume_capability::MountVolume {
        mount_flags: vec![format!("password={SECRET}")],
        ..Default::default()
    };
    let mut request = Request::new(v1::NodeStageVolumeRequest {
        volume_id: volume.to_owned(),
        secrets: HashMap::from([("key".to_owned(), SECRET.to_owned())]),
        volume_context: HashMap::from([(
            "csi.storage.k8s.io/serviceAccount.tokens".to_owned(),
            SECRET.to_owned(),
        )]),
        volume_capability: Some(v1::VolumeCapability {
            access_type: Some(v1::volume_capability::AccessType::Mount(mount)),
            access_mode: None,
        }),
        ..Default::default()
    });
    request
        .metadata_mut()
        .insert("grpc-timeout", "1S".parse().unwrap());
    request
}

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn no_secret_reaches_the_log_of_any_outcome() {
    let memory = Memory::default();
    let writer = memory.clone();
    let subscriber = logging::subscriber(9, move || writer.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let dispatcher = Dispatcher::new(Arc::new(SystemClock::new()), Limits::default());
    let go = Arc::new(Semaphore::new(0));
    let stage = async |volume| -> Result<_, Status> {
        dispatcher.unary::<Stage>(&go, request(volume)).await
    };

    assert_eq!(
        stage("good").await.unwrap_err().code(),
        Code::DeadlineExceeded
    );
    go.add_permits(1);
    stage("good").await.unwrap();
    go.add_permits(1);
    assert_eq!(
        stage("bad").await.unwrap_err().code(),
        Code::PermissionDenied
    );

    let log = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
    assert!(!log.contains(SECRET), "{log}");
    for shown in [
        "volume_id: \"good\"",
        "secrets: ***",
        "joined the running operation",
        "Denied",
    ] {
        assert!(log.contains(shown), "{shown}\n{log}");
    }
}

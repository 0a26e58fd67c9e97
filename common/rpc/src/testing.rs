//! A tiny driver for the tests of this crate: one operation and one question.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;

use azcsi_proto::csi::v1;
use azcsi_types::clock::Deadline;
use azcsi_types::fault::{Fault, Faulty};
use azcsi_types::op::Op;
use tokio::sync::{Semaphore, watch};
use tonic::Request;

use crate::handler::{Handler, Scope};
use crate::inflight::GuardKey;
use crate::method::Method;
use crate::validate::{self, Invalid};

/// What the next runs do once they may go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan {
    Succeed,
    Fail(Fault),
    Panic,
}

/// The driver: counts runs and holds each until the test lets it go on.
#[derive(Debug)]
pub(crate) struct Driver {
    /// How many runs have begun.
    pub(crate) started: watch::Sender<usize>,
    /// How many runs were dropped before they ended.
    pub(crate) dropped: watch::Sender<usize>,
    /// One permit lets one run go on.
    pub(crate) go: Semaphore,
    /// What they do then.
    pub(crate) plan: Mutex<Plan>,
    /// The deadline of the last run.
    pub(crate) deadline: Mutex<Option<Deadline>>,
}

impl Driver {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            started: watch::Sender::new(0),
            dropped: watch::Sender::new(0),
            go: Semaphore::new(0),
            plan: Mutex::new(Plan::Succeed),
            deadline: Mutex::new(None),
        })
    }

    pub(crate) fn runs(&self) -> usize {
        *self.started.borrow()
    }

    pub(crate) fn set(&self, plan: Plan) {
        *self.plan.lock().unwrap() = plan;
    }

    /// Waits until so many runs have begun.
    pub(crate) async fn until_started(&self, runs: usize) {
        self.started
            .subscribe()
            .wait_for(|&started| started >= runs)
            .await
            .unwrap();
    }

    async fn run(&self, op: &Op) -> Result<(), TestError> {
        struct Unfinished<'a>(&'a watch::Sender<usize>);
        impl Drop for Unfinished<'_> {
            fn drop(&mut self) {
                self.0.send_modify(|count| *count += 1);
            }
        }
        *self.deadline.lock().unwrap() = Some(op.deadline());
        self.started.send_modify(|count| *count += 1);
        let unfinished = Unfinished(&self.dropped);
        self.go.acquire().await.unwrap().forget();
        std::mem::forget(unfinished);
        let plan = *self.plan.lock().unwrap();
        match plan {
            Plan::Succeed => Ok(()),
            Plan::Fail(fault) => Err(TestError::Planned(fault)),
            Plan::Panic => panic!("planned"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TestError {
    #[error("bad request")]
    Invalid(#[from] Invalid),
    #[error("planned")]
    Planned(Fault),
}

impl Faulty for TestError {
    fn fault(&self) -> Fault {
        match self {
            Self::Invalid(error) => error.fault(),
            Self::Planned(fault) => *fault,
        }
    }
}

/// The operation: guards the volume; the secrets are part of what matters.
#[derive(Debug)]
pub(crate) struct DeleteVolume;

impl Handler for DeleteVolume {
    type Ctx = Driver;
    type Wire = v1::DeleteVolumeRequest;
    type WireReply = v1::DeleteVolumeResponse;
    type Request = (String, String);
    type Reply = ();
    type Error = TestError;

    const METHOD: Method = Method::DeleteVolume;

    fn decode(_: &Driver, wire: Self::Wire) -> Result<Self::Request, TestError> {
        let secret = wire.secrets.into_values().next().unwrap_or_default();
        Ok((validate::required("volume_id", wire.volume_id)?, secret))
    }

    fn scope((volume, secret): &Self::Request) -> Scope {
        let guards = vec![GuardKey::new("volume", volume)];
        Scope::Operation {
            guards,
            fingerprint: secret.clone(),
        }
    }

    async fn run(driver: Arc<Driver>, _: Self::Request, op: Op) -> Result<(), TestError> {
        driver.run(&op).await
    }

    fn encode((): ()) -> Self::WireReply {
        v1::DeleteVolumeResponse {}
    }
}

/// The question.
#[derive(Debug)]
pub(crate) struct GetCapacity;

impl Handler for GetCapacity {
    type Ctx = Driver;
    type Wire = v1::GetCapacityRequest;
    type WireReply = v1::GetCapacityResponse;
    type Request = ();
    type Reply = ();
    type Error = TestError;

    const METHOD: Method = Method::GetCapacity;

    fn decode(_: &Driver, _: Self::Wire) -> Result<(), TestError> {
        Ok(())
    }

    fn scope((): &()) -> Scope {
        Scope::Read
    }

    async fn run(driver: Arc<Driver>, (): (), op: Op) -> Result<(), TestError> {
        driver.run(&op).await
    }

    fn encode((): ()) -> Self::WireReply {
        v1::GetCapacityResponse::default()
    }
}

/// A DeleteVolume request with a secret, and a `grpc-timeout` if one is given.
pub(crate) fn delete(
    volume: &str,
    secret: &str,
    timeout: Option<&str>,
) -> Request<v1::DeleteVolumeRequest> {
    let mut request = Request::new(v1::DeleteVolumeRequest {
        volume_id: volume.to_owned(),
        secrets: HashMap::from([("key".to_owned(), secret.to_owned())]),
    });
    if let Some(timeout) = timeout {
        request
            .metadata_mut()
            .insert("grpc-timeout", timeout.parse().unwrap());
    }
    request
}

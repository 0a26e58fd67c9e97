//! Tests of `dispatcher`.

use std::sync::Arc;
use std::time::Duration;

use azcsi_proto::csi::v1;
use azcsi_types::clock::{Clock as _, Deadline};
use azcsi_types::fault::Fault;
use tonic::{Code, Request, Status};

use super::{Dispatcher, Limits};
use crate::capability::{ControllerCapabilities, Gate};
use crate::clock::SystemClock;
use crate::metrics::Metrics;
use crate::testing::{DeleteVolume, Driver, GetCapacity, Plan, delete};

struct World {
    driver: Arc<Driver>,
    dispatcher: Dispatcher,
    clock: Arc<SystemClock>,
}

impl World {
    fn new(limits: Limits) -> Self {
        let clock = Arc::new(SystemClock::new());
        let dispatcher = Dispatcher::new(clock.clone(), limits);
        Self {
            driver: Driver::new(),
            dispatcher,
            clock,
        }
    }

    async fn delete(&self, secret: &str, timeout: &str) -> Result<(), Status> {
        let request = delete("disk", secret, Some(timeout));
        self.dispatcher
            .unary::<DeleteVolume>(&self.driver, request)
            .await
            .map(|_| ())
    }

    /// Starts a call in a task of its own and waits until its operation runs.
    async fn begin(&self, secret: &str) -> tokio::task::JoinHandle<Result<(), Status>> {
        let runs = self.driver.runs();
        let (dispatcher, driver) = (self.dispatcher.clone(), Arc::clone(&self.driver));
        let request = delete("disk", secret, None);
        let call = tokio::spawn(async move {
            dispatcher
                .unary::<DeleteVolume>(&driver, request)
                .await
                .map(|_| ())
        });
        self.driver.until_started(runs + 1).await;
        call
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_outlives_its_call_and_the_retry_gets_its_result() {
    let world = World::new(Limits::default());
    let status = world.delete("a", "10S").await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(
        status.message(),
        "DeleteVolume is still running after 9 s: the same call again waits for its result"
    );
    assert_eq!(world.clock.now(), Duration::from_millis(9_800));
    world.driver.go.add_permits(1);
    world.delete("a", "10S").await.unwrap();
    assert_eq!(world.driver.runs(), 1);
    assert_eq!(world.dispatcher.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_operation_outlives_a_call_that_is_given_up() {
    let world = World::new(Limits::default());
    let call = world.begin("a").await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(world.dispatcher.running(), 1);
    world.driver.go.add_permits(1);
    world.delete("a", "10S").await.unwrap();
    assert_eq!(
        (world.driver.runs(), *world.driver.dropped.borrow()),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_different_operation_on_the_same_thing_is_refused() {
    let world = World::new(Limits::default());
    let call = world.begin("a").await;
    let status = world.delete("b", "10S").await.unwrap_err();
    assert_eq!(status.code(), Code::Aborted);
    assert_eq!(
        status.message(),
        "DeleteVolume is running on volume disk: try again when it has ended"
    );
    assert_eq!(world.clock.now(), Duration::ZERO, "it is refused at once");
    world.driver.go.add_permits(2);
    call.await.unwrap().unwrap();
    world.delete("b", "10S").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn operations_on_different_things_run_side_by_side() {
    let world = World::new(Limits::default());
    let _one = world.begin("a").await;
    let other = delete("other disk", "b", Some("10S"));
    world.driver.go.add_permits(2);
    world
        .dispatcher
        .unary::<DeleteVolume>(&world.driver, other)
        .await
        .unwrap();
    assert_eq!(world.driver.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn every_waiting_retry_gets_the_same_failure() {
    let world = World::new(Limits::default());
    world.driver.set(Plan::Fail(Fault::Unavailable));
    let first = world.begin("a").await;
    let (dispatcher, driver) = (world.dispatcher.clone(), Arc::clone(&world.driver));
    let second = tokio::spawn(async move {
        dispatcher
            .unary::<DeleteVolume>(&driver, delete("disk", "a", None))
            .await
            .map(|_| ())
    });
    tokio::task::yield_now().await;
    world.driver.go.add_permits(1);
    for call in [first, second] {
        let status = call.await.unwrap().unwrap_err();
        assert_eq!(
            (status.code(), status.message()),
            (Code::Unavailable, "planned")
        );
    }
    assert_eq!(world.driver.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_nobody_waits_for_is_not_kept() {
    let world = World::new(Limits::default());
    world.driver.set(Plan::Fail(Fault::Internal));
    world.delete("a", "1S").await.unwrap_err();
    world.driver.go.add_permits(1);
    assert_eq!(world.dispatcher.drain(Duration::from_secs(1)).await, 0);
    world.driver.set(Plan::Succeed);
    world.driver.go.add_permits(1);
    world.delete("a", "1S").await.unwrap();
    assert_eq!(world.driver.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_panic_becomes_internal_and_frees_the_guard() {
    let world = World::new(Limits::default());
    world.driver.set(Plan::Panic);
    world.driver.go.add_permits(1);
    let status = world.delete("a", "10S").await.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    world.driver.set(Plan::Succeed);
    world.driver.go.add_permits(1);
    world.delete("b", "10S").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_counted_as_a_failed_operation() {
    let mut world = World::new(Limits::default());
    let metrics = Metrics::new("driver");
    world.dispatcher = world.dispatcher.with_metrics(Arc::clone(&metrics));
    world.driver.set(Plan::Panic);
    world.driver.go.add_permits(1);
    world.delete("a", "10S").await.unwrap_err();
    let labels = "operation=\"controller_delete_volume\",success=\"false\"";
    let line = format!("driver_operations_total{{{labels}}} 1");
    let text = metrics.render();
    assert!(text.lines().any(|found| found == line), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_operation_beyond_its_budget_keeps_its_guard() {
    let limits = Limits {
        operation: Duration::from_secs(60),
        ..Limits::default()
    };
    let world = World::new(limits);
    let _call = world.begin("a").await;
    let deadline = *world.driver.deadline.lock().unwrap();
    assert_eq!(deadline, Some(Deadline::at(limits.operation)));
    tokio::time::advance(2 * limits.operation).await;
    assert_eq!(
        world.delete("b", "10S").await.unwrap_err().code(),
        Code::Aborted
    );
    assert_eq!(
        *world.driver.dropped.borrow(),
        0,
        "work under way is never cut off"
    );
}

#[tokio::test(start_paused = true)]
async fn a_full_registry_refuses_without_waiting() {
    let world = World::new(Limits {
        operations: 1,
        ..Limits::default()
    });
    let _call = world.begin("a").await;
    let other = delete("other disk", "a", None);
    let status = world
        .dispatcher
        .unary::<DeleteVolume>(&world.driver, other)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    world.driver.go.add_permits(1);
    world
        .delete("a", "10S")
        .await
        .expect("a retry is no new operation");
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_its_call() {
    let world = World::new(Limits::default());
    let mut request = Request::new(v1::GetCapacityRequest::default());
    request
        .metadata_mut()
        .insert("grpc-timeout", "1S".parse().unwrap());
    let status = world
        .dispatcher
        .unary::<GetCapacity>(&world.driver, request)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(
        (world.dispatcher.running(), *world.driver.dropped.borrow()),
        (0, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_bad_request_is_refused_before_anything_starts() {
    let world = World::new(Limits::default());
    let request = delete("", "a", None);
    let status = world
        .dispatcher
        .unary::<DeleteVolume>(&world.driver, request)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "bad request: volume_id is missing");
    assert_eq!(world.driver.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_offered_is_unimplemented() {
    let mut world = World::new(Limits::default());
    let gate = Gate::new(Some(ControllerCapabilities::default()), None);
    world.dispatcher = world.dispatcher.with_gate(gate);
    let status = world.delete("a", "1S").await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    assert_eq!(world.driver.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_operations_but_not_for_ever() {
    let world = World::new(Limits::default());
    let _call = world.begin("a").await;
    assert_eq!(world.dispatcher.drain(Duration::from_secs(5)).await, 1);
    assert_eq!(world.clock.now(), Duration::from_secs(5));
    world.driver.go.add_permits(1);
    assert_eq!(world.dispatcher.drain(Duration::from_secs(5)).await, 0);
    assert_eq!(world.clock.now(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_operation_is_counted_once_however_many_calls_wait_for_it() {
    let mut world = World::new(Limits::default());
    let metrics = Metrics::new("driver");
    world.dispatcher = world.dispatcher.with_metrics(Arc::clone(&metrics));
    world.delete("a", "10S").await.unwrap_err();
    world.driver.go.add_permits(1);
    world.delete("a", "10S").await.unwrap();
    let text = metrics.render();
    let labels = "operation=\"controller_delete_volume\",success=\"true\"";
    for line in [
        format!("driver_operations_total{{{labels}}} 1"),
        format!("driver_operation_duration_seconds_sum{{{labels}}} 9.8"),
        "driver_operations_joined_total 1".to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

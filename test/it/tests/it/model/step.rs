//! What can be done to a controller and its Azure, and how it is drawn.

use azcsi_sim::faults::{Effect, Fault};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any};
use proptest::sample::select;

use crate::world::NODES;

/// Volumes of a life.
pub(super) const VOLUMES: usize = 6;

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Create(usize),
    Delete(usize),
    Publish(usize, usize),
    Unpublish(usize, usize),
    Expand(usize, u64),
    Snapshot(usize),
    DeleteSnapshot(usize),
}

/// A call, when it starts within its group, and how long its client waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    pub(super) call: Call,
    pub(super) starts_ms: u64,
    pub(super) patience_s: u64,
}

/// One step of a life.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Calls at the same time. The process is killed after so many milliseconds, if any are given,
    /// and another one starts.
    Calls(Vec<Timed>, Option<u64>),
    /// From now on this goes wrong.
    Fault(Fault),
    /// All faults end.
    Calm,
    /// Nothing happens for so many seconds.
    Wait(u64),
}

fn calls() -> impl Strategy<Value = Timed> {
    let volume = 0..VOLUMES;
    let call =
        (0..20_u8, volume, 0..NODES.len(), 2..12_u64).prop_map(|(kind, volume, node, gib)| {
            match kind {
                0..=3 => Call::Create(volume),
                4 => Call::Delete(volume),
                5..=11 => Call::Publish(volume, node),
                12..=16 => Call::Unpublish(volume, node),
                17 => Call::Expand(volume, gib),
                18 => Call::Snapshot(volume),
                _ => Call::DeleteSnapshot(volume),
            }
        });
    let starts = select(vec![0_u64, 0, 0, 20, 400, 1100, 3000]);
    let patience = select(vec![1_u64, 3, 15, 60, 60, 300]);
    (call, starts, patience).prop_map(|(call, starts_ms, patience_s)| Timed {
        call,
        starts_ms,
        patience_s,
    })
}

/// Ways in which any request can go wrong.
fn anywhere() -> impl Strategy<Value = Effect> {
    let seconds = select(vec![None, Some(0), Some(2), Some(30)]);
    proptest::prop_oneof![
        seconds.prop_map(|retry_after| Effect::Throttle { retry_after }),
        Just(Effect::ResetBefore),
        Just(Effect::ResetAfter),
        Just(Effect::TruncatedBody),
        Just(Effect::HtmlBody { status: 503 }),
        Just(Effect::WrongCasing),
        Just(Effect::Timeout {
            milliseconds: 20_000
        }),
        Just(Effect::Latency {
            milliseconds: 5_000
        }),
        Just(Effect::TokenExpired),
        Just(Effect::ManagedByLag { seconds: 20 }),
    ]
}

/// Ways in which a write can go wrong.
fn of_writes() -> impl Strategy<Value = Effect> {
    let codes = select(vec![
        "InternalExecutionError",
        "ConflictingUserInput",
        "OperationNotAllowed",
        "AllocationFailed",
    ]);
    let status = select(vec![
        (409, "OperationNotAllowed"),
        (409, "Conflict"),
        (500, "InternalServerError"),
        (403, "AuthorizationFailed"),
    ]);
    proptest::prop_oneof![
        codes.prop_map(|code| Effect::FailAfterAccept {
            code: code.to_owned(),
            message: "it did not work".to_owned(),
        }),
        status.prop_map(|(status, code)| Effect::Status {
            status,
            code: code.to_owned(),
            message: "no".to_owned(),
        }),
        Just(Effect::Preempted),
        Just(Effect::VmFailed),
        select(vec![2_000_u64, 45_000]).prop_map(|milliseconds| Effect::Slow { milliseconds }),
    ]
}

fn faults() -> impl Strategy<Value = Fault> {
    let writes = select(vec![
        ("POST", "virtualMachines/attachDetachDataDisks"),
        ("POST", "virtualMachines/attachDetachDataDisks"),
        (
            "POST",
            "virtualMachineScaleSets/virtualMachines/attachDetachDataDisks",
        ),
        ("PUT", "disks"),
        ("DELETE", "disks"),
        ("PATCH", "disks"),
        ("PUT", "snapshots"),
        ("DELETE", "snapshots"),
    ]);
    let reads = select(vec![
        ("GET", "disks"),
        ("GET", "virtualMachines"),
        ("GET", "virtualMachineScaleSets/virtualMachines"),
        ("GET", "operation"),
        ("GET", "snapshots"),
    ]);
    let gone = Just((
        ("POST", "virtualMachines/attachDetachDataDisks"),
        Effect::VmGone,
    ));
    let what = proptest::prop_oneof![
        6 => (writes.clone(), of_writes()),
        6 => (writes, anywhere()),
        4 => (reads, anywhere()),
        1 => (Just(("GET", "operation")), Just(Effect::LostPoll)),
        1 => gone,
    ];
    (what, 0..3_u32, 1..4_u32).prop_map(|(((method, kind), effect), skip, times)| Fault {
        method: Some(method.to_owned()),
        kind: Some(kind.to_owned()),
        name: None,
        skip,
        times: Some(times),
        effect,
    })
}

/// A whole life.
pub(super) fn lives() -> impl Strategy<Value = Vec<Step>> {
    let killed = option::weighted(0.12, select(vec![10_u64, 300, 700, 2_000, 10_000]));
    let step = proptest::prop_oneof![
        10 => (vec(calls(), 1..6), killed).prop_map(|(calls, killed)| Step::Calls(calls, killed)),
        5 => faults().prop_map(Step::Fault),
        1 => Just(Step::Calm),
        1 => any::<u8>().prop_map(|seconds| Step::Wait(u64::from(seconds))),
    ];
    vec(step, 4..40)
}

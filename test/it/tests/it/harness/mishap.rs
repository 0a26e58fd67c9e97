//! What can happen to a request, and what a controller may answer then.

use azcsi_sim::faults::Effect;
use tonic::Code;

/// Codes that are allowed everywhere.
const COMMON: [Code; 8] = [
    Code::InvalidArgument,
    Code::PermissionDenied,
    Code::Unauthenticated,
    Code::Aborted,
    Code::Unavailable,
    Code::DeadlineExceeded,
    Code::Cancelled,
    Code::ResourceExhausted,
];

/// Codes after which no sidecar forgets what it asked for.
const RETRYABLE: [Code; 4] = [
    Code::Aborted,
    Code::Unavailable,
    Code::DeadlineExceeded,
    Code::Cancelled,
];

/// Whether CSI has this code for a call whose own codes are these. INTERNAL is everybody's, but it
/// is final.
pub(super) fn is_allowed(code: Code, own: &[Code]) -> bool {
    COMMON.contains(&code) || own.contains(&code) || code == Code::Internal
}

/// Whether a sidecar takes this code as proof that nothing was done.
pub(super) fn is_final(code: Code) -> bool {
    !RETRYABLE.contains(&code)
}

/// What is left of the promise when this has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hope {
    /// A retry gets there.
    Done,
    /// A retry gets there or says that something is gone.
    DoneOrGone,
    /// Azure never ends what it began: only the code and the number of requests are looked at.
    Stuck,
}

impl Hope {
    pub(super) const fn after(effect: &Effect) -> Self {
        match effect {
            Effect::VmGone => Self::DoneOrGone,
            Effect::NeverEnds => Self::Stuck,
            _ => Self::Done,
        }
    }
}

fn refusals() -> impl Iterator<Item = Effect> {
    let of = [
        (400, "InvalidParameter"),
        (403, "AuthorizationFailed"),
        (409, "OperationNotAllowed"),
        (412, "PreconditionFailed"),
        (500, "InternalServerError"),
        (503, "ServerBusy"),
    ];
    of.into_iter().map(|(status, code)| Effect::Status {
        status,
        code: code.to_owned(),
        message: "no".to_owned(),
    })
}

fn failures() -> impl Iterator<Item = Effect> {
    let codes = [
        "AllocationFailed",
        "ConflictingUserInput",
        "InternalExecutionError",
    ];
    codes.into_iter().map(|code| Effect::FailAfterAccept {
        code: code.to_owned(),
        message: "it did not work".to_owned(),
    })
}

/// Every kind of fault of the simulator.
pub(super) fn effects() -> Vec<Effect> {
    let throttle = |retry_after| Effect::Throttle { retry_after };
    let milliseconds = 30_000;
    let accidents = [
        Effect::Latency { milliseconds },
        Effect::Timeout { milliseconds },
        Effect::ResetBefore,
        Effect::ResetAfter,
        Effect::TruncatedBody,
        Effect::HtmlBody { status: 502 },
        Effect::LostPoll,
        Effect::WrongCasing,
        Effect::StaleRead { seconds: 300 },
        throttle(None),
        throttle(Some(5)),
        Effect::TokenExpired,
        Effect::VmFailed,
        Effect::VmGone,
        Effect::ManagedByLag { seconds: 20 },
        Effect::Preempted,
        Effect::NeverEnds,
        Effect::Slow { milliseconds },
    ];
    refusals().chain(failures()).chain(accidents).collect()
}

/// To which requests it can happen.
pub(super) trait Hurts {
    fn is_of(&self, class: &str) -> bool;
}

impl Hurts for Effect {
    /// Only an operation can be forgotten: the same answer to another request says that its subject is
    /// not there.
    fn is_of(&self, class: &str) -> bool {
        !matches!(self, Self::LostPoll) || class == "GET operation"
    }
}

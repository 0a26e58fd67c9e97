//! Tests of `throttle`.

use std::time::Duration;

use http::HeaderMap;

use super::{Buckets, Gate, Governor, Patience, Remaining, Verb, remaining};
use crate::arm::error::ArmError;
use crate::environment::ApiFamily;
use crate::testing::{TestClock, answer_with};

fn write(vm: &str) -> Buckets {
    Buckets {
        resource: vm.to_owned(),
        subscription: "s".to_owned(),
        family: ApiFamily::VirtualMachines,
        verb: Verb::Write,
    }
}

fn throttled(code: &str, target: &str) -> ArmError {
    let body = format!(
        r#"{{"error":{{"code":"OperationNotAllowed","details":[{{"code":"{code}","target":"{target}"}}]}}}}"#
    );
    ArmError::from_response(&answer_with(429, &[("retry-after", "20")], &body))
}

const NONE: Patience = Patience {
    pause: Duration::ZERO,
    line: Duration::ZERO,
};
const ENDLESS: Patience = Patience {
    pause: Duration::MAX,
    line: Duration::MAX,
};

/// How long a request would have to wait. It does not.
async fn wait(gate: &Gate, buckets: &Buckets) -> Duration {
    let told = gate.pass(buckets, NONE).await;
    told.err().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_pause_stops_exactly_what_azure_counts_together() {
    let read = Buckets {
        verb: Verb::Read,
        ..write("a")
    };
    let disk = Buckets {
        family: ApiFamily::Disks,
        ..write("d")
    };
    let pause = Duration::from_secs(20);
    let none = Duration::ZERO;
    for (code, target, expected) in [
        (
            "TooManyRequests",
            "UpdateVMResource",
            [pause, none, none, none],
        ),
        (
            "TooManyRequests",
            "UpdateVMSubscription",
            [pause, pause, none, none],
        ),
        (
            "SubscriptionRequestsThrottled",
            "",
            [pause, pause, pause, none],
        ),
    ] {
        let gate = Gate::new(TestClock::start());
        gate.refused(&write("a"), &throttled(code, target));
        for (buckets, expected) in [&write("a"), &write("b"), &disk, &read]
            .into_iter()
            .zip(expected)
        {
            assert_eq!(
                wait(&gate, buckets).await,
                expected,
                "{code} {target} {buckets:?}"
            );
        }
        tokio::time::advance(pause).await;
        assert_eq!(wait(&gate, &write("a")).await, none);
    }
}

#[tokio::test(start_paused = true)]
async fn a_count_of_one_disk_does_not_stop_the_others() {
    let disk = |name| Buckets {
        family: ApiFamily::Disks,
        ..write(name)
    };
    for (target, other_waits) in [("UpdateDiskResource", false), ("", true)] {
        let gate = Gate::new(TestClock::start());
        gate.refused(&disk("a"), &throttled("TooManyRequests", target));
        assert!(!wait(&gate, &disk("a")).await.is_zero());
        assert_eq!(
            !wait(&gate, &disk("b")).await.is_zero(),
            other_waits,
            "{target}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_without_a_pause_still_closes_the_gate_au_04() {
    let gate = Gate::new(TestClock::start());
    let error = ArmError::from_response(&answer_with(429, &[], ""));
    gate.refused(&write("a"), &error);
    let wait = wait(&gate, &write("a")).await.as_secs_f64();
    assert!((7.5..=12.5).contains(&wait), "{wait}");
}

/// When each of so many that come together leaves, in milliseconds from now.
async fn leave(gate: &Gate, count: usize) -> Vec<u128> {
    let start = tokio::time::Instant::now();
    let all = (0..count).map(async |_| {
        gate.pass(&write("a"), ENDLESS).await.unwrap();
        start.elapsed().as_millis()
    });
    futures_util::future::join_all(all).await
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_leave_one_after_the_other_and_a_new_pause_stops_the_rest() {
    let gate = Gate::new(TestClock::start());
    let refusal = || throttled("TooManyRequests", "UpdateVMSubscription");
    gate.refused(&write("a"), &refusal());
    // Those that left together with the first teach nothing new.
    gate.refused(&write("b"), &refusal());
    assert_eq!(leave(&gate, 3).await, [20_000, 20_040, 20_080]);
    tokio::time::advance(Duration::from_millis(10)).await;
    let again = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        gate.refused(&write("b"), &refusal());
    };
    let (left, ()) = tokio::join!(leave(&gate, 3), again);
    assert_eq!(left, [30, 20_050, 20_100]);
}

#[tokio::test(start_paused = true)]
async fn a_line_gets_faster_with_successes_and_ends_with_calm() {
    let gate = Gate::new(TestClock::start());
    gate.refused(
        &write("a"),
        &throttled("TooManyRequests", "UpdateVMSubscription"),
    );
    for _ in 0..500 {
        gate.observe(&write("c"), &[]);
    }
    assert_eq!(leave(&gate, 3).await, [20_000, 20_020, 20_040]);
    assert!(gate.has_line(&write("b")));
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(!gate.has_line(&write("b")));
    assert_eq!(leave(&gate, 3).await, [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_too_long_is_not_joined() {
    let gate = Gate::new(TestClock::start());
    gate.refused(
        &write("a"),
        &throttled("TooManyRequests", "UpdateVMSubscription"),
    );
    let a = write("a");
    let line = Duration::from_millis(20_050);
    let pause = Duration::from_secs(19);
    let told = gate.pass(&a, Patience { pause, line }).await;
    assert_eq!(told, Err(Duration::from_secs(20)));
    let patience = Patience { pause: line, line };
    let all = (0..3).map(|_| gate.pass(&a, patience));
    let told = futures_util::future::join_all(all).await;
    assert_eq!(told, [Ok(()), Ok(()), Err(Duration::from_millis(20_080))]);
}

#[test]
fn repeated_and_joined_counts_are_all_read() {
    let mut headers = HeaderMap::new();
    let name = "x-ms-ratelimit-remaining-resource";
    headers.append(
        name,
        "Microsoft.Compute/A;11,Microsoft.Compute/B;1499"
            .parse()
            .unwrap(),
    );
    headers.append(name, "Microsoft.Compute/C;7".parse().unwrap());
    headers.append(
        "x-ms-ratelimit-remaining-subscription-reads",
        "249".parse().unwrap(),
    );
    headers.append("x-ms-request-charge", "1".parse().unwrap());
    let mut found: Vec<(String, u64)> = remaining(&headers)
        .into_iter()
        .map(|Remaining { policy, count }| (policy, count))
        .collect();
    found.sort();
    let expected = [
        ("Microsoft.Compute/A", 11),
        ("Microsoft.Compute/B", 1499),
        ("Microsoft.Compute/C", 7),
        ("subscription-reads", 249),
    ];
    assert_eq!(
        found,
        expected.map(|(policy, count)| (policy.to_owned(), count))
    );
}

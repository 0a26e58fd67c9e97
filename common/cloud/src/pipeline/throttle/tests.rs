//! Tests of `throttle`.

use std::time::Duration;

use http::HeaderMap;

use super::{Buckets, Gate, Governor, Remaining, Verb, remaining};
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
        let waits = [&write("a"), &write("b"), &disk, &read].map(|b| gate.admit(b));
        assert_eq!(waits, expected, "{code} {target}");
        tokio::time::advance(pause).await;
        assert_eq!(gate.admit(&write("a")), none);
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
        assert!(!gate.admit(&disk("a")).is_zero());
        assert_eq!(!gate.admit(&disk("b")).is_zero(), other_waits, "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_without_a_pause_still_closes_the_gate() {
    let gate = Gate::new(TestClock::start());
    let error = ArmError::from_response(&answer_with(429, &[], ""));
    gate.refused(&write("a"), &error);
    let wait = gate.admit(&write("a")).as_secs_f64();
    assert!((7.5..=12.5).contains(&wait), "{wait}");
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

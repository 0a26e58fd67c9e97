//! Every kind of fault, by what a client sees and what the world holds after it.

use std::time::Duration;

use azcsi_sim::Profile;
use azcsi_sim::faults::Script;
use serde_json::{Value, json};

use crate::support::{Lab, attach, detach, disk, premium, vm};

fn inject(lab: &Lab, fault: Value) {
    let script: Script = serde_json::from_value(json!({"faults": [fault]})).expect("a script");
    lab.sim.inject(script);
}

fn on_put(effect: Value) -> Value {
    json!({"method": "PUT", "kind": "disks", "times": 1, "effect": effect})
}

async fn put(lab: &Lab) -> Option<crate::support::Got> {
    lab.raw(Lab::request("PUT", &disk("a"), &premium(8)))
        .await
        .ok()
}

async fn exists(lab: &Lab) -> bool {
    lab.get(&disk("a")).await.status == 200
}

#[tokio::test]
async fn refusals_apply_nothing_and_hit_the_chosen_occurrence() {
    for (effect, status) in [
        (
            json!({"do": "status", "status": 500, "code": "InternalServerError", "message": "x"}),
            500,
        ),
        (json!({"do": "throttle", "retryAfter": 7}), 429),
        (json!({"do": "throttle"}), 429),
        (json!({"do": "tokenExpired"}), 401),
        (json!({"do": "htmlBody", "status": 502}), 502),
    ] {
        let lab = Lab::new();
        inject(&lab, on_put(effect.clone()));
        let got = put(&lab).await.expect("an answer");
        assert_eq!(got.status, status, "{effect}");
        assert_eq!(
            got.header("retry-after"),
            if effect.get("retryAfter").is_some() {
                "7"
            } else {
                ""
            }
        );
        assert!(!exists(&lab).await, "{effect}");
        assert_eq!(
            put(&lab).await.expect("an answer").status,
            202,
            "only the first is hit"
        );
    }
}

#[tokio::test]
async fn cut_connections_say_nothing_of_what_was_applied() {
    for (effect, applied) in [
        (json!({"do": "resetBefore"}), false),
        (json!({"do": "resetAfter"}), true),
        (json!({"do": "timeout", "milliseconds": 1}), true),
    ] {
        let lab = Lab::new();
        inject(&lab, on_put(effect.clone()));
        assert!(put(&lab).await.is_none(), "{effect}");
        assert_eq!(exists(&lab).await, applied, "{effect}");
        assert_eq!(lab.sim.requests(0).first().expect("logged").status, 0);
    }
}

#[tokio::test]
async fn a_truncated_body_promises_more_than_it_has() {
    let lab = Lab::new();
    inject(&lab, on_put(json!({"do": "truncatedBody"})));
    let got = put(&lab).await.expect("an answer");
    let promised: usize = got.header("content-length").parse().expect("a length");
    assert!(got.response.body().len() < promised);
    assert!(exists(&lab).await);
}

#[tokio::test]
async fn operations_fail_are_preempted_never_end_or_are_lost() {
    for (effect, status) in [
        (
            json!({"do": "failAfterAccept", "code": "Conflict", "message": "x"}),
            "Failed",
        ),
        (json!({"do": "preempted"}), "Canceled"),
        (json!({"do": "neverEnds"}), "InProgress"),
        (json!({"do": "slow", "milliseconds": 1000}), "Succeeded"),
    ] {
        let lab = Lab::new();
        inject(&lab, on_put(effect.clone()));
        let got = put(&lab).await.expect("an answer");
        lab.clock.advance(Duration::from_secs(3600));
        let end = lab.get(got.header("azure-asyncoperation")).await;
        assert_eq!(end.body["status"], status, "{effect}");
    }
    let lab = Lab::new();
    let got = put(&lab).await.expect("an answer");
    inject(
        &lab,
        json!({"kind": "operation", "skip": 1, "times": 1, "effect": {"do": "lostPoll"}}),
    );
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(lab.get(got.header("azure-asyncoperation")).await.status);
    }
    assert_eq!(seen, [200, 404, 200]);
}

#[tokio::test]
async fn reads_can_be_odd_or_old() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    let action = format!("{}/attachDetachDataDisks", vm("vm1"));
    let read = |effect: Value| json!({"method": "GET", "kind": "disks", "effect": effect});
    inject(&lab, read(json!({"do": "staleRead", "seconds": 30})));
    lab.send("POST", &action, attach("a", 0)).await;
    assert_eq!(
        lab.get(&disk("a")).await.body.get("managedBy"),
        None,
        "still as before"
    );
    lab.clock.advance(Duration::from_secs(31));
    assert_eq!(lab.get(&disk("a")).await.body["managedBy"], vm("vm1"));
    lab.sim.clear_faults();
    inject(&lab, read(json!({"do": "wrongCasing"})));
    let shown = lab.get(&disk("a")).await.body;
    let odd = vm("vm1").replace("/resourceGroups/Rg/", "/resourcegroups/RG/");
    assert_eq!(shown["managedBy"], odd);
}

#[tokio::test]
async fn owners_can_lag_behind() {
    let lab = Lab::new();
    lab.disk("a", premium(8)).await;
    let action = format!("{}/attachDetachDataDisks", vm("vm1"));
    inject(
        &lab,
        json!({"method": "POST", "effect": {"do": "managedByLag", "seconds": 20}}),
    );
    lab.send("POST", &action, attach("a", 0)).await;
    assert_eq!(lab.get(&disk("a")).await.body.get("managedBy"), None);
    lab.clock.advance(Duration::from_secs(20));
    assert_eq!(lab.get(&disk("a")).await.body["managedBy"], vm("vm1"));
    lab.send("POST", &action, detach("a")).await;
    assert_eq!(lab.get(&disk("a")).await.body["managedBy"], vm("vm1"));
}

#[tokio::test]
async fn machines_fail_or_vanish() {
    let lab = Lab::new();
    inject(
        &lab,
        json!({"method": "GET", "name": "/vm1", "effect": {"do": "vmGone"}}),
    );
    assert_eq!(lab.get(&vm("vm1")).await.status, 404);
    assert_eq!(lab.get(&vm("vm2")).await.status, 200);
    inject(
        &lab,
        json!({"method": "GET", "name": "/vm2", "times": 1, "effect": {"do": "vmFailed"}}),
    );
    lab.get(&vm("vm2")).await;
    assert_eq!(
        lab.get(&vm("vm2")).await.body["properties"]["provisioningState"],
        "Failed"
    );
}

#[tokio::test]
async fn a_script_with_an_unknown_word_is_refused() {
    let bad = json!({"faults": [{"methd": "PUT", "effect": {"do": "resetAfter"}}]});
    assert!(serde_json::from_value::<Script>(bad).is_err());
}

#[tokio::test]
async fn a_secret_in_a_url_is_a_violation() {
    let lab = Lab::with(Profile::Instant);
    lab.get(&format!("{}?access_token=eyJabc", disk("a"))).await;
    assert_eq!(
        lab.sim.violations().first().map(|v| v.rule.as_str()),
        Some("secretInUrl")
    );
}

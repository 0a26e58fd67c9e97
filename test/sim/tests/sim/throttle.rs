//! Token buckets.

use std::time::Duration;

use azcsi_sim::Profile;
use serde_json::json;

use crate::support::{Lab, vm};

async fn updates(lab: &Lab, count: usize) -> Vec<u16> {
    let mut seen = Vec::new();
    for _ in 0..count {
        seen.push(lab.send("PATCH", &vm("vm1"), json!({})).await.status);
    }
    seen
}

#[tokio::test]
async fn a_machine_takes_twelve_updates_and_then_four_a_minute() {
    let lab = Lab::with(Profile::Azure);
    let seen = updates(&lab, 13).await;
    assert_eq!(seen.iter().filter(|status| **status == 200).count(), 12);
    let got = lab.send("PATCH", &vm("vm1"), json!({})).await;
    assert_eq!((got.status, got.code()), (429, "OperationNotAllowed"));
    assert_eq!(got.body["error"]["details"][0]["code"], "TooManyRequests");
    assert_eq!(got.header("retry-after"), "15");
    assert_eq!(
        lab.send("PATCH", &vm("vm2"), json!({})).await.status,
        200,
        "others are free"
    );
    lab.clock.advance(Duration::from_secs(60));
    assert_eq!(updates(&lab, 5).await, [200, 200, 200, 200, 429]);
}

#[tokio::test]
async fn what_is_left_is_told_and_stress_has_a_tenth() {
    let lab = Lab::with(Profile::Azure);
    let got = lab.send("PATCH", &vm("vm1"), json!({})).await;
    let left: Vec<&str> = got
        .response
        .headers()
        .get_all("x-ms-ratelimit-remaining-resource")
        .iter()
        .map(|value| value.to_str().expect("text"))
        .collect();
    assert_eq!(left.first(), Some(&"Microsoft.Compute/UpdateVMResource;11"));
    assert_eq!(
        got.header("x-ms-ratelimit-remaining-subscription-writes"),
        "199"
    );
    let lab = Lab::with(Profile::Stress);
    assert_eq!(updates(&lab, 2).await, [200, 429]);
    let lab = Lab::new();
    assert!(updates(&lab, 50).await.iter().all(|status| *status == 200));
}

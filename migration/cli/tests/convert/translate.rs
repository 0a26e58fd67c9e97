//! `translate`: the shared vectors through the command line.

use std::sync::Arc;

use azcsi_migrate::args::Cli;
use azcsi_migrate::commands::{Report, run};
use azcsi_migrate::failure::Exit;
use clap::Parser as _;
use serde_json::Value;

use crate::cluster::TestClock;

async fn translated(direction: &str, mode: &str, input: &Value) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input.json");
    std::fs::write(&file, input.to_string()).unwrap();
    let file = file.display().to_string();
    let line = [
        "azcsi-migrate",
        "translate",
        "--direction",
        direction,
        "--mode",
        mode,
        &file,
    ];
    let cli = Cli::try_parse_from(line).unwrap();
    let clock = Arc::new(TestClock::new());
    Box::pin(run(cli, clock, "me".to_owned(), Arc::new(|_| {})))
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_vector_is_answered_in_its_own_shape() {
    let vectors: Vec<Value> =
        serde_json::from_str(include_str!("../../../tests/vectors/translation.json")).unwrap();
    for vector in &vectors {
        let direction = vector["direction"].as_str().unwrap().replace('_', "-");
        let report = translated(&direction, "compat", &vector["input"]).await;
        let answer: Value = serde_json::from_str(&report.text).unwrap();
        let fails = vector.get("error").is_some();
        assert_eq!(report.exit == Exit::Internal, fails, "{}", vector["name"]);
        if let Some(marker) = vector.get("errorContains").and_then(Value::as_str) {
            assert!(
                answer["error"].as_str().unwrap().contains(marker),
                "{answer}"
            );
            assert!(!answer["reason"].as_str().unwrap().is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn strict_says_why() {
    let unmanaged = serde_json::json!({"metadata": {"name": "p"}, "spec": {"azureDisk": {
        "diskName": "d", "diskURI": "https://a/vhds/d"}}});
    let report = translated("pv-to-csi", "strict", &unmanaged).await;
    assert_eq!(report.exit, Exit::Internal);
    assert!(report.text.contains("UnsupportedKind"), "{}", report.text);
}

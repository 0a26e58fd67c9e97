//! How many requests the simulator's library answers on one core.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use azcsi_sim::{ManualClock, Sim, SimOptions, World};
use bytes::Bytes;
use http::Request;
use tower::ServiceExt as _;

use crate::report::{Row, Within};

const GROUP: &str = "/subscriptions/sub/resourceGroups/rg/providers/Microsoft.Compute/disks";
const VERSION: &str = "api-version=2024-03-02";
const DISKS: u32 = 1000;
const ROUND: Duration = Duration::from_secs(2);
const BUDGET: u64 = 20_000;

fn request(method: &str, disk: u32, body: &'static str) -> Result<Request<Bytes>> {
    Ok(Request::builder()
        .method(method)
        .uri(format!("{GROUP}/disk-{disk}?{VERSION}"))
        .header("host", "management.azure.com")
        .header("authorization", "Bearer any")
        .header("content-type", "application/json")
        .body(Bytes::from_static(body.as_bytes()))?)
}

async fn ask(sim: &Sim, request: Request<Bytes>) -> Result<()> {
    let answer = sim.clone().oneshot(request).await.context("simulator")?;
    if !answer.status().is_success() {
        bail!(
            "{}: {}",
            answer.status(),
            String::from_utf8_lossy(answer.body())
        );
    }
    Ok(())
}

/// Reads, then writes, each for a while over a world of a thousand disks.
#[expect(clippy::disallowed_methods, reason = "a bench's stopwatch")]
pub(crate) async fn requests() -> Result<Vec<Row>> {
    const BODY: &str = r#"{"location":"eastus2","sku":{"name":"Premium_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":4}}"#;
    let mut options = SimOptions::new(Arc::new(ManualClock::default()));
    options.time_scale = 0.0;
    let sim = Sim::new(World::new("sub", "rg", "eastus2"), options);
    for disk in 0..DISKS {
        ask(&sim, request("PUT", disk, BODY)?).await?;
    }
    let mut rows = Vec::new();
    for (method, body) in [("GET", ""), ("PUT", BODY)] {
        let began = Instant::now();
        let mut count = 0;
        while began.elapsed() < ROUND {
            ask(&sim, request(method, count % DISKS, body)?).await?;
            count += 1;
        }
        let rate = u64::from(count) * 1000 / u64::try_from(began.elapsed().as_millis().max(1))?;
        rows.push(Row::held(
            format!("simulator library, {method} of a disk, one core"),
            format!("{rate} a second"),
            "≥ 20000/s",
            Within::from(rate >= BUDGET),
        ));
    }
    Ok(rows)
}

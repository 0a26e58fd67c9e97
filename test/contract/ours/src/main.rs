//! Lets the drivers' own ARM client do everything it can against a running simulator, and writes
//! down what it sends and gets. The model check then reads it into models that nobody here wrote.
//!
//! It checks little by itself: the integration tests of the client do that.

mod life;
mod record;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use azcsi_cloud::config::Env;
use azcsi_cloud::{Azure, CloudConfig, Environment, HttpOptions, HttpTransport};
use azcsi_rpc::SystemClock;
use serde_json::Value;

use crate::life::Life;
use crate::record::Recorded;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("FAIL  ours: {error:#}\nours: 0 passed, 1 failed"));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [from, endpoints, to, record] = words.as_slice() else {
        bail!("usage: contract-ours --endpoints FILE --record FILE");
    };
    if (from.as_str(), to.as_str()) != ("--endpoints", "--record") {
        bail!("usage: contract-ours --endpoints FILE --record FILE");
    }
    let endpoints: Value = serde_json::from_str(&read(Path::new(endpoints))?)?;
    let text = |name: &str| -> anyhow::Result<String> {
        let value = endpoints.get(name).and_then(Value::as_str);
        value
            .map(str::to_owned)
            .with_context(|| format!("the endpoints have no {name}"))
    };
    let file = text("controllerConfig")?;
    let config = CloudConfig::parse(&read(Path::new(&file))?, &file, &Env::default())?;
    let options = HttpOptions {
        ca_bundle: Some(read(Path::new(&text("caFile")?))?.into_bytes()),
        ..HttpOptions::default()
    };
    let network = HttpTransport::new(&options)?;
    let transport = Arc::new(Recorded::new(network, &PathBuf::from(record))?);
    let environment =
        Environment::discover(transport.as_ref(), &text("arm")?, "AzureCloud", None).await?;
    let clock = Arc::new(SystemClock::new());
    let azure = Azure::new(config, environment, transport, Arc::clone(&clock) as _)?;
    let life = Life::new(
        azure,
        clock,
        &text("subscription")?,
        &text("resourceGroup")?,
    );
    life.all(&text("location")?).await?;
    tell("ok    ours: every call of the drivers' client, recorded\nours: 1 passed, 0 failed");
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

#[expect(clippy::print_stdout, reason = "what it found is what it is for")]
fn tell(text: &str) {
    println!("{text}");
}

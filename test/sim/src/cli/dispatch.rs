//! Does what the command line says.

use std::io::{Read as _, Write as _};

use anyhow::Context as _;
use bytes::Bytes;
use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    Command, ControlArgs, FaultsArgs, LogsArgs, PowerArgs, PowerVerb, RequestsArgs, WorldArgs,
    client, generate,
};
use crate::serve::run::{self, Build};
use crate::worldfile::WorldFile;

/// Carries a command out; `build` makes the world that `serve` serves.
///
/// # Errors
/// One line that says what is wrong and what to do.
pub async fn dispatch(command: Command, build: Build) -> anyhow::Result<()> {
    match command {
        Command::Serve(args) => run::run(args, build).await,
        Command::World(args) => world(&args),
        Command::Status(args) => status(&args).await,
        Command::Faults(args) => faults(&args).await,
        Command::Requests(args) => requests(&args).await,
        Command::Logs(args) => logs(&args).await,
        Command::Power(args) => power(&args).await,
    }
}

fn world(args: &WorldArgs) -> anyhow::Result<()> {
    let text = generate::world(args)
        .render()
        .context("the world cannot be written")?;
    // What this command writes, `serve` has to take.
    WorldFile::parse(std::path::Path::new("world"), &text)?;
    show(text.as_bytes())
}

async fn status(args: &ControlArgs) -> anyhow::Result<()> {
    let control = client::control_url(args)?;
    let endpoints = get(&control, "/_sim/endpoints").await?;
    let state = get(&control, "/_sim/state").await?;
    let violations = get(&control, "/_sim/violations").await?;
    show_json(&json!({"endpoints": endpoints, "state": state, "violations": violations}))
}

async fn faults(args: &FaultsArgs) -> anyhow::Result<()> {
    let control = client::control_url(&args.control)?;
    if args.clear {
        client::call(&control, Method::DELETE, "/_sim/faults", Bytes::new()).await?;
        return Ok(());
    }
    let Some(file) = &args.set else {
        return show_json(&get(&control, "/_sim/faults").await?);
    };
    let script = read(file)?;
    let body = client::call(&control, Method::POST, "/_sim/faults", script.into()).await?;
    show(&body)
}

async fn requests(args: &RequestsArgs) -> anyhow::Result<()> {
    let control = client::control_url(&args.control)?;
    if !args.violations {
        let path = format!("/_sim/requests?since={}", args.since);
        return show_json(&get(&control, &path).await?);
    }
    let violations = get(&control, "/_sim/violations").await?;
    show_json(&violations)?;
    anyhow::ensure!(is_empty(&violations), "there are violations, shown above");
    Ok(())
}

/// Lines with a secret are violations from now on, and make this fail.
async fn logs(args: &LogsArgs) -> anyhow::Result<()> {
    let control = client::control_url(&args.control)?;
    for file in &args.files {
        let name = utf8_percent_encode(file, NON_ALPHANUMERIC);
        let path = format!("/_sim/logs?from={name}");
        client::call(&control, Method::POST, &path, read(file)?.into()).await?;
    }
    let found = get(&control, "/_sim/violations").await?;
    let found = found.get("violations").and_then(Value::as_array);
    let is_leak = |one: &&Value| one.get("rule").is_some_and(|rule| rule == "secretInLog");
    let leaks: Vec<&Value> = found.into_iter().flatten().filter(is_leak).collect();
    show_json(&json!({"violations": leaks}))?;
    anyhow::ensure!(
        leaks.is_empty(),
        "there are secrets, in the lines shown above"
    );
    Ok(())
}

async fn power(args: &PowerArgs) -> anyhow::Result<()> {
    let control = client::control_url(&args.control)?;
    let node = &args.node;
    let (path, body) = match args.state {
        PowerVerb::Start => (
            format!("/_sim/vms/{node}/power"),
            json!({"state": "running"}),
        ),
        PowerVerb::Off => (
            format!("/_sim/vms/{node}/power"),
            json!({"state": "stopped"}),
        ),
        PowerVerb::Deallocate => (
            format!("/_sim/vms/{node}/power"),
            json!({"state": "deallocated"}),
        ),
        PowerVerb::Reimage => (format!("/_sim/vms/{node}/reimage"), json!({})),
        PowerVerb::Delete => (format!("/_sim/vms/{node}/delete"), json!({})),
    };
    let body = Bytes::from(body.to_string());
    show(&client::call(&control, Method::POST, &path, body).await?)
}

async fn get(control: &str, path: &str) -> anyhow::Result<Value> {
    let body = client::call(control, Method::GET, path, Bytes::new()).await?;
    serde_json::from_slice(&body).with_context(|| format!("{path}: the answer is not JSON"))
}

/// A list of nothing, or an object whose lists are all of nothing.
fn is_empty(violations: &Value) -> bool {
    match violations {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        _ => false,
    }
}

fn read(file: &str) -> anyhow::Result<String> {
    if file != "-" {
        return std::fs::read_to_string(file).with_context(|| format!("{file} cannot be read"));
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("standard input cannot be read")?;
    Ok(text)
}

fn show_json(value: &Value) -> anyhow::Result<()> {
    show(format!("{value:#}").as_bytes())
}

fn show(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    if !bytes.ends_with(b"\n") {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

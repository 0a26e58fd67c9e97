//! A world that is just a shelf of JSON values, for tests of everything around a world.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use azcsi_sim::cli::{Cli, Command, ServeArgs};
use azcsi_sim::imds::document::Instance;
use azcsi_sim::kubeapi::seed::NodeFacts;
use azcsi_sim::link::Attachment;
use azcsi_sim::link::sync::{Contents, Desired, Pulled};
use azcsi_sim::serve::backend::{Backend, Changes};
use azcsi_sim::serve::secrets::Secrets;
use azcsi_sim::serve::site::Cut;
use azcsi_sim::worldfile::WorldFile;
use azcsi_types::clock::Clock;
use bytes::Bytes;
use clap::Parser as _;
use futures_util::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

/// Values by path: PUT, GET, DELETE. `{"bytes": n}` is a disk, and with `node` and `lun` attached.
#[derive(Debug)]
pub(crate) struct Shelf {
    values: Mutex<BTreeMap<String, Value>>,
    nodes: Vec<NodeFacts>,
    revision: AtomicU64,
    pulled: Mutex<Vec<Pulled>>,
}

pub(crate) fn build(
    _: &ServeArgs,
    file: &WorldFile,
    saved: &BTreeMap<String, Value>,
    _: Arc<dyn Clock>,
    _: &Secrets,
) -> anyhow::Result<Arc<dyn Backend>> {
    let mine = saved.iter().filter(|(key, _)| key.starts_with('/'));
    let pool = file.pools.first().expect("a pool");
    let nodes = (0..*pool.nodes.get_ref()).map(|index| NodeFacts {
        name: pool.host_name(index),
        provider_id: format!("azure:///{index}"),
        location: "eastus2".into(),
        zone: pool.zone(index).map(str::to_owned),
        fault_domain: 0,
        size: pool.size.get_ref().clone(),
    });
    Ok(Arc::new(Shelf {
        values: Mutex::new(
            mine.map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        ),
        nodes: nodes.collect(),
        revision: AtomicU64::new(0),
        pulled: Mutex::new(Vec::new()),
    }))
}

/// Options for a world of one node in `dir`.
pub(crate) fn options(dir: &Path, extra: &[&str]) -> ServeArgs {
    let world = dir.join("world.toml");
    let Command::World(args) =
        Cli::parse_from(["azcsi-sim", "world", "--nodes", "1", "--zones", "1"]).command
    else {
        panic!("not the world command");
    };
    let text = azcsi_sim::cli::generate::world(&args)
        .render()
        .expect("render");
    std::fs::write(&world, text).expect("write");
    let state = dir.join("state");
    let mut line = vec![
        "azcsi-sim",
        "serve",
        "--world",
        world.to_str().expect("text"),
        "--dir",
        state.to_str().expect("text"),
    ];
    line.extend_from_slice(extra);
    let Command::Serve(args) = Cli::parse_from(line).command else {
        panic!("not the serve command");
    };
    args
}

fn reply(status: StatusCode, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    response
}

impl Backend for Shelf {
    fn released(&self, _: Vec<String>) {}

    fn arm(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Bytes>, Cut>> {
        let path = request.uri().path().to_owned();
        let mut values = self.values.lock().expect("values");
        let answer = match *request.method() {
            Method::PUT => {
                let value = serde_json::from_slice(request.body()).expect("JSON");
                values.insert(path.clone(), value);
                self.revision.fetch_add(1, Ordering::SeqCst);
                if path.starts_with("/cut") {
                    Err(Cut)
                } else {
                    Ok(reply(StatusCode::OK, &json!({})))
                }
            }
            Method::DELETE => {
                values.remove(&path);
                self.revision.fetch_add(1, Ordering::SeqCst);
                Ok(reply(StatusCode::OK, &json!({})))
            }
            _ => Ok(match values.get(&path) {
                Some(value) => reply(StatusCode::OK, value),
                None => reply(StatusCode::NOT_FOUND, &json!({})),
            }),
        };
        Box::pin(std::future::ready(answer))
    }

    fn control(&self, request: &Request<Bytes>) -> Option<Response<Bytes>> {
        let pulled = self.pulled.lock().expect("pulled").len();
        (request.uri().path() == "/_sim/violations")
            .then(|| reply(StatusCode::OK, &json!({"pulled": pulled})))
    }

    fn settle(&self) -> u64 {
        self.revision.load(Ordering::SeqCst)
    }

    fn changes(&self) -> serde_json::Result<Changes> {
        Ok(Changes {
            rest: self.values.lock().expect("values").clone(),
            ..Changes::default()
        })
    }

    fn desired(&self) -> Desired {
        let mut desired = Desired::default();
        for (path, value) in self.values.lock().expect("values").iter() {
            let Some(bytes) = value.get("bytes").and_then(Value::as_u64) else {
                continue;
            };
            let key = path.trim_start_matches('/').replace('/', "-");
            let source = value
                .get("source")
                .and_then(Value::as_str)
                .map(str::to_owned);
            desired
                .contents
                .insert(key.clone(), Contents { bytes, source });
            if let Some(lun) = value.get("lun").and_then(Value::as_u64) {
                desired.attachments.insert(Attachment {
                    node: self.nodes.first().expect("a node").name.clone(),
                    lun: u32::try_from(lun).expect("small"),
                    disk: key,
                    sector: 512,
                });
            }
        }
        desired
    }

    fn nodes(&self) -> Vec<NodeFacts> {
        self.nodes.clone()
    }

    fn instance(&self, node: &str) -> Option<Instance> {
        Some(Instance {
            name: node.to_owned(),
            ..Instance::default()
        })
    }

    fn files_at(&self, _: &str) {}

    fn collect(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn report(&self, pulled: &Pulled) {
        self.pulled.lock().expect("pulled").push(pulled.clone());
    }
}

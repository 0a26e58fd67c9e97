//! The simulator behind the sockets: what the shell asks of a world, and the world of a world file.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use azcsi_types::clock::Clock;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::cli::{ProfileName, ServeArgs};
use crate::faults::Script;
use crate::files::folder::Folder;
use crate::front_door::Auth;
use crate::imds::document::{DataDisk, Instance};
use crate::kubeapi::seed::NodeFacts;
use crate::link::Attachment;
use crate::link::sync::{Contents, Desired, Pulled};
use crate::query::Query;
use crate::quotas::Quotas;
use crate::saved;
use crate::serve::backend::{Backend, Changes};
use crate::serve::secrets::Secrets;
use crate::serve::site::Cut;
use crate::sim::{Sim, SimOptions};
use crate::state::Profile;
use crate::world::{
    Disk, Machine, MachineKind, Power, ScaleSet, World, guid_of, key, leaf, region,
};
use crate::worldfile::{Pool, PoolKind, WorldFile};

/// Makes the simulator that `serve` serves.
///
/// # Errors
/// When what was saved is not a world.
pub fn build(
    args: &ServeArgs,
    file: &WorldFile,
    saved: &BTreeMap<String, Value>,
    clock: Arc<dyn Clock>,
    secrets: &Secrets,
) -> anyhow::Result<Arc<dyn Backend>> {
    let world = match saved::import(saved)? {
        Some(world) => world,
        None => from_file(file),
    };
    let mut options = SimOptions::new(clock);
    // Signed requests carry the client's real time.
    options.checks_dates = args.time_scale == 1.0;
    options.contents = Some(Arc::new(shares(args, &world)?));
    options.seed = args.seed;
    options.time_scale = args.time_scale;
    options.auth = Auth::Key(secrets.token_key());
    let secrets = file.apps.iter().filter_map(|app| app.secret.clone());
    options.secrets = secrets.collect();
    options.profile = match args.profile {
        ProfileName::Instant => Profile::Instant,
        ProfileName::Azure => Profile::Azure,
        ProfileName::Stress => Profile::Stress,
    };
    options.quotas = args.quotas.unwrap_or(Quotas::of(options.profile));
    Ok(Arc::new(Sim::new(world, options)))
}

/// The contents of the shares of a world, below the state directory.
fn shares(args: &ServeArgs, world: &World) -> anyhow::Result<Folder> {
    let live = world.shares.values();
    let all = live.chain(world.deleted_shares.values().map(|gone| &gone.share));
    let known: Vec<String> = all
        .flat_map(|share| {
            let snapshots = share.snapshots.iter().map(|taken| taken.contents.clone());
            snapshots.chain([share.contents.clone()])
        })
        .collect();
    let root = args.dir.join("shares");
    Folder::open(&root, &known).with_context(|| format!("{} cannot be used", root.display()))
}

/// The world that a file describes.
#[must_use]
pub fn from_file(file: &WorldFile) -> World {
    let (subscription, group) = (file.subscription.get_ref(), file.resource_group.get_ref());
    let location = file.location.get_ref();
    let mut world = World::new(subscription, group, location);
    world.tenant.clone_from(file.tenant.get_ref());
    let compute =
        format!("/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute");
    for pool in &file.pools {
        add_pool(&mut world, pool, &compute, location);
    }
    crate::network::seed::nodes(&mut world, (subscription, group), location);
    world
}

fn add_pool(world: &mut World, pool: &Pool, compute: &str, location: &str) {
    let (name, size) = (pool.name.get_ref(), pool.size.get_ref());
    let set = format!("{compute}/virtualMachineScaleSets/{name}");
    if matches!(pool.kind, PoolKind::Uniform | PoolKind::Flex) {
        world.add_scale_set(ScaleSet {
            id: set.clone(),
            location: region(location),
            zones: pool.zones.get_ref().clone(),
            size: size.clone(),
            flexible: pool.kind == PoolKind::Flex,
            prefix: name.clone(),
            unique_id: guid_of(&set),
        });
    }
    for index in 0..*pool.nodes.get_ref() {
        let vm = pool.vm_name(index);
        let (id, kind) = match pool.kind {
            PoolKind::Uniform => {
                let kind = MachineKind::Instance {
                    scale_set: set.clone(),
                    instance_id: vm.clone(),
                };
                (format!("{set}/virtualMachines/{vm}"), kind)
            }
            PoolKind::Flex => (
                format!("{compute}/virtualMachines/{vm}"),
                MachineKind::Flex(set.clone()),
            ),
            PoolKind::Standalone => (
                format!("{compute}/virtualMachines/{vm}"),
                MachineKind::Standalone,
            ),
            PoolKind::Avset => {
                let avset = format!("{compute}/availabilitySets/{name}");
                (
                    format!("{compute}/virtualMachines/{vm}"),
                    MachineKind::AvailabilitySet(avset),
                )
            }
        };
        let machine = Machine::new(&id, kind, location, size);
        let mut machine = machine
            .zoned(pool.zone(index))
            .named(&pool.host_name(index));
        machine.fault_domain = index % 3;
        world.add_machine(machine);
    }
}

fn reply(status: StatusCode, body: &Value) -> Response<Bytes> {
    crate::serve::sites::reply(status, body)
}

fn attached(sim: &Sim) -> Vec<Attachment> {
    let state = sim.state();
    let machines = state.world.machines.values();
    let on = machines.filter(|machine| machine.power != Power::Deallocated);
    let mut found = Vec::new();
    for machine in on {
        for entry in machine.data_disks.iter().filter(|entry| entry.attached) {
            if let Some(disk) = state.world.disks.get(&key(&entry.disk_id)) {
                found.push(Attachment {
                    node: machine.computer_name.clone(),
                    lun: entry.lun,
                    disk: disk.unique_id.clone(),
                    sector: sector(disk),
                });
            }
        }
    }
    found
}

/// Premium SSD v2 and Ultra have large sectors unless asked otherwise.
fn sector(disk: &Disk) -> u32 {
    let asked = disk
        .origin
        .shown
        .get("logicalSectorSize")
        .and_then(Value::as_u64);
    let large = matches!(disk.sku.as_str(), "PremiumV2_LRS" | "UltraSSD_LRS");
    match asked.or(large.then_some(4096)) {
        Some(4096) => 4096,
        _ => 512,
    }
}

impl Backend for Sim {
    fn arm(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Bytes>, Cut>> {
        let sim = self.clone();
        Box::pin(async move { sim.answer(request).await.map_err(|_| Cut) })
    }

    fn control(&self, request: &Request<Bytes>) -> Option<Response<Bytes>> {
        control(self, request)
    }

    fn settle(&self) -> u64 {
        Self::settle(self)
    }

    fn changes(&self) -> serde_json::Result<Changes> {
        saved::changes(&mut self.state().world)
    }

    fn desired(&self) -> Desired {
        let attachments = attached(self).into_iter().collect();
        let state = self.state();
        let disks = state
            .world
            .disks
            .values()
            .map(|disk| (&disk.unique_id, (disk.gib, disk.odd_bytes), &disk.origin));
        let snapshots = state.world.snapshots.values();
        let snapshots =
            snapshots.map(|one| (&one.unique_id, (one.gib, one.odd_bytes), &one.origin));
        let contents = disks.chain(snapshots).map(|(id, (gib, odd), origin)| {
            let contents = Contents {
                bytes: (gib << 30) + odd,
                source: origin.source_unique_id.clone(),
            };
            (id.clone(), contents)
        });
        Desired {
            contents: contents.collect(),
            attachments,
        }
    }

    fn nodes(&self) -> Vec<NodeFacts> {
        let state = self.state();
        let mut machines: Vec<&Machine> = state.world.machines.values().collect();
        machines.sort_by_key(|machine| machine.ordinal);
        let facts = machines.into_iter().map(|machine| NodeFacts {
            name: machine.computer_name.clone(),
            provider_id: format!("azure://{}", machine.id),
            location: machine.location.clone(),
            zone: machine.zone.clone(),
            fault_domain: machine.fault_domain,
            size: machine.size.clone(),
        });
        facts.collect()
    }

    fn instance(&self, node: &str) -> Option<Instance> {
        let state = self.state();
        let machine = state
            .world
            .machines
            .values()
            .find(|machine| machine.computer_name == node)?;
        Some(instance(&state.world, machine))
    }

    fn files_at(&self, base: &str) {
        self.state().file_endpoint = Some(base.to_owned());
    }

    fn collect(&self) -> std::io::Result<()> {
        self.state().contents.collect()
    }

    fn released(&self, handles: Vec<String>) {
        Self::released(self, handles);
    }

    fn report(&self, pulled: &Pulled) {
        let mut state = self.state();
        let at = &pulled.attachment;
        let about = format!(
            "disk {} was taken from {} at LUN {}: {:?}",
            at.disk, at.node, at.lun, pulled.mounts
        );
        let now = state.now;
        state.violations.add("detachedWhileMounted", about, now);
    }
}

fn instance(world: &World, machine: &Machine) -> Instance {
    let parts: Vec<&str> = machine.id.split('/').collect();
    let part = |index: usize| {
        parts
            .get(index)
            .map_or_else(String::new, |part| (*part).to_owned())
    };
    let (scale_set, flexible) = match &machine.kind {
        MachineKind::Instance { scale_set, .. } => (leaf(scale_set).to_owned(), String::new()),
        MachineKind::Flex(id) => (leaf(id).to_owned(), id.clone()),
        _ => Default::default(),
    };
    let disks = machine
        .data_disks
        .iter()
        .filter(|entry| entry.attached)
        .filter_map(|entry| {
            let disk = world.disks.get(&key(&entry.disk_id))?;
            Some(DataDisk {
                lun: entry.lun,
                name: entry.name.clone(),
                id: entry.disk_id.clone(),
                sku: disk.sku.clone(),
                caching: entry.caching.clone(),
                create_option: entry.create_option.clone(),
                size_gib: disk.gib,
                shared: disk.max_shares > 1,
                iops: disk.iops,
                mbps: disk.mbps,
            })
        });
    Instance {
        name: machine.name(),
        computer_name: machine.computer_name.clone(),
        location: machine.location.clone(),
        resource_group: part(4),
        subscription: part(2),
        resource_id: machine.id.clone(),
        vm_id: machine.vm_id.clone(),
        size: machine.size.clone(),
        zone: machine.zone.clone().unwrap_or_default(),
        fault_domain: machine.fault_domain.to_string(),
        scale_set,
        flexible_scale_set_id: flexible,
        tags: machine.tags.clone().into_iter().collect(),
        data_disks: disks.collect(),
        ordinal: machine.ordinal,
    }
}

/// The control API of the world.
fn control(sim: &Sim, request: &Request<Bytes>) -> Option<Response<Bytes>> {
    let path = request.uri().path();
    let ok = |body: &Value| Some(reply(StatusCode::OK, body));
    match (request.method(), path) {
        (&Method::GET, "/_sim/faults") => ok(&json!({"faults": sim.state().faults.list()})),
        (&Method::DELETE, "/_sim/faults") => {
            sim.clear_faults();
            ok(&json!({}))
        }
        (&Method::POST, "/_sim/faults") => match serde_json::from_slice::<Script>(request.body()) {
            Ok(script) => {
                let count = script.faults.len();
                sim.inject(script);
                ok(&json!({"added": count}))
            }
            Err(error) => Some(refuse(&error.to_string())),
        },
        (&Method::GET, "/_sim/requests") => {
            let query = Query::of(request.uri());
            let since = query
                .get("since")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            ok(&json!({"requests": numbered(sim, since)}))
        }
        (&Method::GET, "/_sim/state") => ok(&serde_json::to_value(sim.world()).unwrap_or_default()),
        (&Method::GET, "/_sim/violations") => ok(&json!({"violations": sim.violations()})),
        (&Method::POST, "/_sim/logs") => {
            let query = Query::of(request.uri());
            let program = query.get("from").unwrap_or("a log");
            sim.logged(program, &String::from_utf8_lossy(request.body()));
            ok(&json!({}))
        }
        (&Method::POST, _) if path.starts_with("/_sim/disks/") => {
            let (name, verb) = path.strip_prefix("/_sim/disks/")?.split_once('/')?;
            disk(sim, name, verb, request.body())
        }
        (&Method::POST, _) if path.starts_with("/_sim/accounts/") => {
            crate::storage::control::answer(&mut sim.state(), path, request.body())
        }
        (&Method::POST, _) => path.strip_prefix("/_sim/vms/").and_then(|rest| {
            let (node, verb) = rest.split_once('/')?;
            machine(sim, node, verb, request.body())
        }),
        _ => None,
    }
}

/// Requests after this number, each with it as `seq`: the place to go on from.
fn numbered(sim: &Sim, since: u64) -> Value {
    let mut list = serde_json::to_value(sim.requests(since)).unwrap_or_default();
    for entry in list.as_array_mut().into_iter().flatten() {
        let number = entry.get("number").cloned().unwrap_or_default();
        if let Some(fields) = entry.as_object_mut() {
            fields.insert("seq".to_owned(), number);
        }
    }
    list
}

fn refuse(message: &str) -> Response<Bytes> {
    let body = json!({"error": {"code": "BadControlRequest", "message": message}});
    reply(StatusCode::BAD_REQUEST, &body)
}

/// What is said of a disk, which is named by its name: that its delete is a violation, and what was
/// written or read through it.
fn disk(sim: &Sim, name: &str, verb: &str, body: &Bytes) -> Option<Response<Bytes>> {
    let wanted: Value = serde_json::from_slice(body).unwrap_or_default();
    let mark = wanted.get("mark").and_then(Value::as_str);
    let found = match (verb, mark) {
        ("guard", _) => sim.guard(name),
        ("wrote", Some(mark)) => sim.wrote(name, mark),
        ("read", Some(mark)) => sim.read(name, mark),
        ("wrote" | "read", None) => return Some(refuse("mark is the text that was met")),
        _ => return None,
    };
    Some(if found {
        reply(StatusCode::OK, &json!({"disk": name}))
    } else {
        let body = json!({"error": {"code": "NoSuchDisk", "message": name}});
        reply(StatusCode::NOT_FOUND, &body)
    })
}

fn machine(sim: &Sim, node: &str, verb: &str, body: &Bytes) -> Option<Response<Bytes>> {
    let mut state = sim.state();
    let found = state
        .world
        .machines
        .iter()
        .find(|(_, machine)| machine.computer_name == node);
    let Some(target) = found.map(|(target, _)| target.clone()) else {
        return Some(reply(
            StatusCode::NOT_FOUND,
            &json!({"error": {"code": "NoSuchNode", "message": node}}),
        ));
    };
    state.revision += 1;
    match verb {
        "delete" => crate::compute::vms::remove(&mut state, &target),
        // The operating system is new; data disks stay where they are.
        "reimage" => {
            let vm_id = guid_of(&format!("{target}{}", state.revision));
            state.world.machines.get_mut(&target)?.vm_id = vm_id;
        }
        "power" => {
            let wanted: Value = serde_json::from_slice(body).unwrap_or_default();
            let power = match wanted.get("state").and_then(Value::as_str) {
                Some("running" | "on") => Power::Running,
                Some("stopped" | "off") => Power::Stopped,
                Some("deallocated") => Power::Deallocated,
                _ => return Some(refuse("state is running, stopped or deallocated")),
            };
            state.world.machines.get_mut(&target)?.power = power;
        }
        _ => return None,
    }
    Some(reply(StatusCode::OK, &json!({"node": node})))
}

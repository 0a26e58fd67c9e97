//! NFS, service endpoints and private endpoints: the way from the nodes to an account.

use azcsi_cloud::Account;
use azcsi_sim::faults::Effect;
use azcsi_sim::network::model::Linked;
use azcsi_sim::world::{Provisioning, key};
use azcsi_types::account::AccountUri;
use serde_json::{Value, json};
use tonic::Code;

use super::copies::op;
use super::world::{GROUP, REGION, SHARES, SUBSCRIPTION, World, create_request};

const PVC: &str = "pvc-3f0e3b4a-1111-2222-3333-444455556666";
const NFS: [(&str, &str); 1] = [("protocol", "nfs")];
const PRIVATE: [(&str, &str); 1] = [("networkEndpointType", "privateEndpoint")];

fn net() -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"
    )
}

fn subnet_id(name: &str) -> String {
    format!("{}/subnets/{name}", net())
}

impl World {
    pub(super) fn add_linked(&self, id: &str, kind: &str, properties: &Value) {
        let body = json!({"location": REGION, "properties": properties});
        let linked = Linked {
            id: id.to_owned(),
            kind: kind.to_owned(),
            location: REGION.to_owned(),
            body: body.as_object().cloned().unwrap(),
            etag: format!("etag-{id}"),
            provisioning: Provisioning::Succeeded,
        };
        self.sim
            .change(|world| world.network.insert(key(id), linked));
    }

    fn add_subnet(&self, name: &str, prefix: &str) {
        let properties = json!({
            "addressPrefix": prefix, "serviceEndpoints": [], "delegations": [],
            "futureSetting": {"kept": true},
        });
        self.add_linked(&subnet_id(name), "virtualNetworks/subnets", &properties);
    }

    /// A world with the network of the cluster and one subnet.
    pub(super) fn with_network() -> Self {
        let world = Self::new();
        let space = json!({"addressSpace": {"addressPrefixes": ["10.0.0.0/8"]}});
        world.add_linked(&net(), "virtualNetworks", &space);
        world.add_subnet("nodes", "10.1.0.0/16");
        world
    }

    fn subnet(&self, name: &str) -> Value {
        let world = self.sim.world();
        let found = world.network.get(&key(&subnet_id(name))).unwrap();
        found.body["properties"].clone()
    }

    fn linked(&self, kind: &str) -> usize {
        let world = self.sim.world();
        let all = world.network.values();
        all.filter(|one| one.kind.eq_ignore_ascii_case(kind))
            .count()
    }

    async fn account_of(&self, name: &str) -> Account {
        let name = name.parse().unwrap();
        let uri = AccountUri::new(SUBSCRIPTION, GROUP, &name).unwrap();
        self.azure.accounts().get(&op(), &uri).await.unwrap()
    }

    async fn allowed(&self) -> Vec<String> {
        let name = self.accounts().remove(0);
        let account = self.account_of(&name).await;
        let rules = account.properties.network_acls.unwrap();
        assert_eq!(rules.default_action.as_deref(), Some("Deny"));
        let rules = serde_json::to_value(&rules.virtual_network_rules).unwrap();
        let ids = rules.as_array().unwrap().iter();
        let mut names: Vec<String> = ids
            .map(|rule| rule["id"].as_str().unwrap())
            .map(|id| id.rsplit('/').next().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }
}

#[tokio::test(start_paused = true)]
async fn an_nfs_share_is_reached_from_every_subnet_also_a_later_one_nfs_01() {
    let world = World::with_network();
    world.add_subnet("GatewaySubnet", "10.9.0.0/16");
    let volume = world.volume(PVC, 100, &NFS).await;
    assert_eq!(volume.volume_context["protocol"], "nfs");
    assert_eq!(world.allowed().await, ["nodes"]);
    let opened = world.subnet("nodes");
    assert!(
        opened["serviceEndpoints"]
            .to_string()
            .contains("Microsoft.Storage"),
        "{opened}"
    );
    world.add_subnet("pool2", "10.2.0.0/16");
    world.restarted().volume("pvc-2", 100, &NFS).await;
    assert_eq!(world.allowed().await, ["nodes", "pool2"]);
    assert_eq!(world.accounts().len(), 1);
    // Neither a key nor a Secret is needed for it.
    assert!(world.cluster.secrets().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_subnet_that_may_not_be_read_is_told_at_create_nfs_01() {
    let world = World::with_network();
    let denied = Effect::Status {
        status: 403,
        code: "AuthorizationFailed".to_owned(),
        message: "does not have authorization to perform action 'Microsoft.Network/virtualNetworks/subnets/read' over scope 'x'".to_owned(),
    };
    world.fault("GET", "virtualNetworks/subnets", 50, denied);
    let status = world
        .create(create_request(PVC, 100, &NFS))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
    assert!(status.message().contains("subnets/read"), "{status:?}");
    assert!(world.accounts().is_empty() && world.shares().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_network_that_nobody_named_is_asked_for() {
    let world = World::with_network();
    let class = [("protocol", "nfs"), ("subnetName", "nodes,")];
    let status = world
        .create(create_request(PVC, 100, &class))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    let class = [("protocol", "nfs"), ("vnetName", "../x")];
    let status = world
        .create(create_request(PVC, 100, &class))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_subnet_keeps_what_the_driver_does_not_know_pr_25() {
    let world = World::with_network();
    let class = [
        ("networkEndpointType", "serviceEndpoint"),
        ("subnetName", "nodes"),
    ];
    let names: Vec<String> = (0..5).map(|n| format!("pvc-{n}")).collect();
    let all = names.iter().map(|name| world.volume(name, 5, &class));
    let (_, requests) = world.requests_of(futures_util::future::join_all(all)).await;
    let kept = world.subnet("nodes");
    assert_eq!(kept["futureSetting"]["kept"], true, "{kept}");
    assert_eq!(kept["addressPrefix"], "10.1.0.0/16");
    let writes = |class: &&String| class.as_str() == "PUT virtualNetworks/subnets";
    assert_eq!(requests.iter().filter(writes).count(), 1, "{requests:?}");
    assert_eq!(world.accounts().len(), 1);
    // One that has it is not written again.
    let (_, requests) = world
        .requests_of(world.restarted().volume("pvc-9", 5, &class))
        .await;
    assert_eq!(requests.iter().filter(writes).count(), 0, "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_private_endpoint_has_zone_link_and_names_and_is_made_once() {
    let world = World::with_network();
    let volume = world.volume(PVC, 5, &PRIVATE).await;
    let account = world.accounts().remove(0);
    assert_eq!(
        volume.volume_context["server"],
        format!("{account}.privatelink.file.core.windows.net")
    );
    for kind in [
        "privateEndpoints",
        "privateDnsZones",
        "privateDnsZones/virtualNetworkLinks",
        "privateEndpoints/privateDnsZoneGroups",
    ] {
        assert_eq!(world.linked(kind), 1, "{kind}");
    }
    let second = world.restarted().volume("pvc-2", 5, &PRIVATE).await;
    assert!(second.volume_id.contains(&account));
    assert_eq!(world.linked("privateEndpoints"), 1);
    // A class without it does not get this account.
    let public = world.volume("pvc-3", 5, &[]).await;
    assert!(!public.volume_id.contains(&account));
}

#[tokio::test(start_paused = true)]
async fn names_can_be_somebody_elses_business() {
    for (mode, groups) in [("none", 0), ("existingZone", 1)] {
        let world = World::with_network();
        if mode == "existingZone" {
            let zone = format!(
                "/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Network/privateDnsZones/privatelink.file.core.windows.net"
            );
            world.add_linked(&zone, "privateDnsZones", &json!({}));
        }
        let class = [PRIVATE[0], ("dnsMode", mode)];
        world.volume(PVC, 5, &class).await;
        assert_eq!(world.linked("privateEndpoints"), 1, "{mode}");
        assert_eq!(world.linked("privateDnsZones"), groups, "{mode}");
        let kind = "privateDnsZones/virtualNetworkLinks";
        assert_eq!(world.linked(kind), 0, "{mode}");
        let kind = "privateEndpoints/privateDnsZoneGroups";
        assert_eq!(world.linked(kind), groups, "{mode}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_failure_on_the_way_leaves_a_second_account_pr_20() {
    for class in [&[][..], &NFS, &PRIVATE] {
        // What a create without faults asks, one after the other.
        let plain = World::with_network();
        let (_, requests) = plain.requests_of(plain.volume(PVC, 100, class)).await;
        let mut writes: Vec<String> = requests;
        writes.sort();
        writes.dedup();
        for request in writes {
            let (method, kind) = request.split_once(' ').unwrap();
            for effect in [
                Effect::Status {
                    status: 403,
                    code: "AuthorizationFailed".to_owned(),
                    message: "no".to_owned(),
                },
                Effect::ResetAfter,
                Effect::HtmlBody { status: 502 },
                Effect::TruncatedBody,
            ] {
                let world = World::with_network();
                world.fault(method, kind, 50, effect.clone());
                let first = world.create(create_request(PVC, 100, class)).await;
                if let Err(status) = &first {
                    assert_ne!(
                        status.code(),
                        Code::Internal,
                        "{request} {effect:?}: {status:?}"
                    );
                }
                world.sim.clear_faults();
                let volume = world.restarted().volume(PVC, 100, class).await;
                if let Ok(first) = first {
                    assert_eq!(first.volume_id, volume.volume_id, "{request} {effect:?}");
                }
                let left = (world.accounts().len(), world.shares().len());
                assert_eq!(left, (1, 1), "{request} {effect:?}");
                world.delete(&volume.volume_id).await.unwrap();
                assert!(world.shares().is_empty(), "{request} {effect:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_share_that_is_being_deleted_is_waited_for_pr_26() {
    let world = World::new();
    let being = Effect::Status {
        status: 409,
        code: "ShareBeingDeleted".to_owned(),
        message: "The specified share is being deleted. Try operation later.".to_owned(),
    };
    world.fault("PUT", SHARES, 50, being);
    let status = world.create(create_request(PVC, 5, &[])).await.unwrap_err();
    assert_eq!(status.code(), Code::Aborted, "{status:?}");
    world.sim.clear_faults();
    world.volume(PVC, 5, &[]).await;
    assert_eq!(world.accounts().len(), 1);
}

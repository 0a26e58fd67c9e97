//! A small cluster with one StatefulSet whose volume is an in-tree disk, and converters on it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azcsi_kube::Kube;
use azcsi_kube::objects::Objects;
use azcsi_migrate::args::Cli;
use azcsi_migrate::commands::{Report, World, in_cluster};
use azcsi_migrate::engine::{Tell, Timing};
use azcsi_migrate::failure::{Exit, Failure};
use azcsi_migrate::output::Format;
use azcsi_migrate::plan::Plan;
use azcsi_sim::kubeapi::resources::Target;
use azcsi_sim::kubeapi::store::PatchKind;
use azcsi_sim::kubeapi::{Store, answer};
use azcsi_types::clock::Clock;
use bytes::Bytes;
use clap::Parser as _;
use http::Request;
use serde_json::{Value, json};

pub(crate) const DISK: &str =
    "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/disks/kubernetes-dynamic-db";
pub(crate) const VOLUME: &str = "/api/v1/persistentvolumes/pv-db";
pub(crate) const CLAIM: &str = "/api/v1/namespaces/shop/persistentvolumeclaims/data-db-0";
pub(crate) const SET: &str = "/apis/apps/v1/namespaces/shop/statefulsets/db";

#[derive(Debug)]
pub(crate) struct TestClock(tokio::time::Instant);

impl TestClock {
    pub(crate) fn new() -> Self {
        Self(tokio::time::Instant::now())
    }
}

impl Clock for TestClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + self.now()
    }
}

pub(crate) struct Cluster {
    pub(crate) store: Arc<Store>,
    clock: Arc<TestClock>,
    folder: tempfile::TempDir,
}

/// The whole volume object as a cluster of today holds it.
pub(crate) fn volume() -> Value {
    json!({
        "metadata": {"name": "pv-db", "labels": {"team": "shop"}, "annotations": {
            "pv.kubernetes.io/provisioned-by": "kubernetes.io/azure-disk",
            "pv.kubernetes.io/bound-by-controller": "yes",
        }},
        "spec": {
            "azureDisk": {"diskName": "kubernetes-dynamic-db", "diskURI": DISK, "kind": "Managed",
                "cachingMode": "ReadWrite", "fsType": "xfs", "readOnly": false},
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "8Gi"},
            "mountOptions": ["noatime"], "storageClassName": "legacy", "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": "shop", "name": "data-db-0"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "failure-domain.beta.kubernetes.io/zone", "operator": "In",
                    "values": ["uksouth-1"]},
                {"key": "failure-domain.beta.kubernetes.io/region", "operator": "In",
                    "values": ["uksouth"]},
            ]}]}},
        },
    })
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(TestClock::new());
        let store = Store::new(Arc::clone(&clock) as Arc<dyn Clock>).with_controllers();
        let cluster = Self {
            store: Arc::new(store),
            clock,
            folder: tempfile::tempdir().unwrap(),
        };
        cluster.seed();
        cluster
    }

    fn seed(&self) {
        let driver = json!({"name": "disk.csi.azure.com", "nodeID": "aks-1"});
        for (path, body) in [
            (
                "/api/v1/nodes",
                json!({"metadata": {"name": "aks-1"}, "status": {
                "conditions": [{"type": "Ready", "status": "True"}]}}),
            ),
            (
                "/apis/storage.k8s.io/v1/csinodes",
                json!({"metadata": {"name": "aks-1"}, "spec": {"drivers": [driver]}}),
            ),
            (
                "/apis/storage.k8s.io/v1/csidrivers",
                json!({"metadata": {"name": "disk.csi.azure.com"}}),
            ),
            (
                "/apis/storage.k8s.io/v1/storageclasses",
                json!({"metadata": {"name": "legacy"},
                "provisioner": "kubernetes.io/azure-disk", "reclaimPolicy": "Delete"}),
            ),
            ("/api/v1/persistentvolumes", volume()),
            (
                "/apis/apps/v1/namespaces/shop/statefulsets",
                json!({
                    "metadata": {"name": "db"},
                    "spec": {"replicas": 1, "volumeClaimTemplates": [{
                        "metadata": {"name": "data"},
                        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "legacy",
                            "resources": {"requests": {"storage": "8Gi"}}, "volumeMode": "Filesystem"},
                    }]},
                }),
            ),
        ] {
            self.store
                .create(&Target::parse(path).unwrap(), body)
                .unwrap();
        }
        self.store.settle();
        self.assert_running();
    }

    /// A converter of that name; `tell` hears its progress.
    pub(crate) fn world(&self, holder: &str, tell: Tell) -> World {
        let store = Arc::clone(&self.store);
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let store = Arc::clone(&store);
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                let request: Request<Bytes> = Request::from_parts(head, body);
                Ok::<_, std::convert::Infallible>(answer(store, request).await)
            }
        });
        let client = kube::Client::new(service, "default");
        World {
            objects: Objects::new(Kube::over(
                client,
                Arc::clone(&self.clock) as Arc<dyn Clock>,
            )),
            format: Format::Table,
            holder: holder.to_owned(),
            tell,
            timing: Timing::default(),
        }
    }

    pub(crate) fn plan_file(&self) -> PathBuf {
        self.folder.path().join("plan.json")
    }

    /// Runs a command line as the converter `holder`, whose journal folder is its own.
    pub(crate) async fn run(&self, holder: &str, line: &str) -> Result<Report, Failure> {
        self.run_heard(holder, line, Arc::new(|_| {})).await
    }

    pub(crate) async fn run_heard(
        &self,
        holder: &str,
        line: &str,
        tell: Tell,
    ) -> Result<Report, Failure> {
        let plan = self.plan_file().display().to_string();
        let journal = self.folder.path().join(holder).display().to_string();
        let line = format!("azcsi-migrate {line}")
            .replace("PLAN", &plan)
            .replace("JOURNAL", &journal);
        let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
        Box::pin(in_cluster(&self.world(holder, tell), cli.command)).await
    }

    /// Makes the plan; the command line that carries it out.
    pub(crate) async fn plan(&self, options: &str) -> String {
        let report = self
            .run("planner", &format!("plan --out PLAN {options}"))
            .await
            .unwrap();
        assert_eq!(report.exit, Exit::Done, "{}", report.text);
        let plan = Plan::parse(&std::fs::read(self.plan_file()).unwrap()).unwrap();
        format!(
            "apply --plan PLAN --journal JOURNAL --execute --confirm {}",
            plan.hash()
        )
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        let found = self.store.get(&Target::parse(path).unwrap()).ok();
        found.map(|object| object.as_ref().clone())
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) {
        let target = Target::parse(path).unwrap();
        self.store.patch(&target, PatchKind::Merge, body).unwrap();
        self.store.settle();
    }

    /// The promises: no disk deleted or made, one volume for the disk, and the claim bound to it.
    pub(crate) fn assert_sound(&self) {
        let log = self.store.controllers().unwrap().log();
        assert!(log.deleted.is_empty(), "disks were deleted: {log:?}");
        assert!(log.provisioned.is_empty(), "disks were made: {log:?}");
    }

    pub(crate) fn assert_running(&self) {
        self.assert_sound();
        let volumes = self
            .store
            .list(&Target::parse("/api/v1/persistentvolumes").unwrap())
            .1;
        assert_eq!(volumes.len(), 1, "{volumes:?}");
        let volume = self.get(VOLUME).expect("the volume is there");
        let claim = self.get(CLAIM).expect("the claim is there");
        assert_eq!(claim["status"]["phase"], "Bound", "{claim}");
        assert_eq!(claim["spec"]["volumeName"], "pv-db");
        assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
        assert_eq!(volume["status"]["phase"], "Bound", "{volume}");
        assert_eq!(self.get(SET).unwrap()["spec"]["replicas"], 1);
        let pod = self
            .get("/api/v1/namespaces/shop/pods/db-0")
            .expect("the pod is there");
        assert_eq!(pod["status"]["phase"], "Running");
    }

    pub(crate) fn assert_converted(&self) {
        self.assert_running();
        let volume = self.get(VOLUME).unwrap();
        assert_eq!(volume["spec"]["csi"]["volumeHandle"], DISK);
        assert_eq!(
            volume["spec"]["csi"]["volumeAttributes"]["cachingMode"],
            "ReadWrite"
        );
        assert_eq!(volume["spec"].get("azureDisk"), None);
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain");
        assert_eq!(volume["metadata"]["labels"]["team"], "shop");
    }

    pub(crate) fn assert_original(&self) {
        self.assert_running();
        let (now, then) = (self.get(VOLUME).unwrap(), volume());
        for field in [
            "azureDisk",
            "nodeAffinity",
            "capacity",
            "mountOptions",
            "accessModes",
        ] {
            assert_eq!(now["spec"][field], then["spec"][field]);
        }
        assert_eq!(now["spec"]["persistentVolumeReclaimPolicy"], "Delete");
        assert_eq!(now["metadata"]["labels"], then["metadata"]["labels"]);
        assert_eq!(
            now["metadata"]["annotations"],
            then["metadata"]["annotations"]
        );
    }
}

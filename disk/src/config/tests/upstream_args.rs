//! Arguments that manifests pass: those of upstream's latest chart and plain manifests, so that a change
//! of the image alone is enough, and those of our own.

use super::{Config, Mode, serve};

/// What kubelet puts for the variables in the arguments.
const VARIABLES: [(&str, &str); 3] = [
    ("$(CSI_ENDPOINT)", "unix:///csi/csi.sock"),
    ("$(KUBE_NODE_NAME)", "aks-1"),
    ("$(POD_IP)", "10.0.0.4"),
];

/// Upstream's chart, "latest": the controller.
const CHART_CONTROLLER: &str = "
--v=5
--endpoint=$(CSI_ENDPOINT)
--metrics-address=0.0.0.0:29604
--disable-avset-nodes=false
--vm-type=
--drivername=disk.csi.azure.com
--cloud-config-secret-name=azure-cloud-provider
--cloud-config-secret-namespace=kube-system
--custom-user-agent=
--user-agent-suffix=OSS-helm
--allow-empty-cloud-config=false
--vmss-cache-ttl-seconds=-1
--kube-api-qps=0
--kube-api-burst=0
--enable-traffic-manager=false
--traffic-manager-port=7788
--enable-otel-tracing=false
--check-disk-lun-collision=true
--vmss-detach-timeout-seconds=200
";

/// The same: the node.
const CHART_NODE: &str = "
--v=5
--endpoint=$(CSI_ENDPOINT)
--nodeid=$(KUBE_NODE_NAME)
--enable-perf-optimization=true
--drivername=disk.csi.azure.com
--volume-attach-limit=-1
--reserved-data-disk-slot-num=0
--cloud-config-secret-name=azure-cloud-provider
--cloud-config-secret-namespace=kube-system
--custom-user-agent=
--user-agent-suffix=OSS-helm
--allow-empty-cloud-config=true
--support-zone=true
--get-node-info-from-labels=false
--get-nodeid-from-imds=false
--enable-otel-tracing=false
--metrics-address=0.0.0.0:29605
--remove-not-ready-taint=true
";

/// Upstream's plain manifests: the controller.
const PLAIN_CONTROLLER: &str = "
--v=5
--endpoint=$(CSI_ENDPOINT)
--metrics-address=0.0.0.0:29604
--user-agent-suffix=OSS-kubectl
--disable-avset-nodes=false
--allow-empty-cloud-config=false
";

/// The same: the node.
const PLAIN_NODE: &str = "
--v=5
--endpoint=$(CSI_ENDPOINT)
--nodeid=$(KUBE_NODE_NAME)
--enable-perf-optimization=true
--allow-empty-cloud-config=true
--get-node-info-from-labels=false
--metrics-address=0.0.0.0:29605
";

fn with(arguments: &[String]) -> Config {
    let replaced: Vec<String> = arguments
        .iter()
        .map(|argument| {
            VARIABLES
                .iter()
                .fold(argument.clone(), |text, (name, value)| {
                    text.replace(name, value)
                })
        })
        .collect();
    let replaced: Vec<&str> = replaced.iter().map(String::as_str).collect();
    serve(&replaced)
}

fn lines(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The arguments of the driver's container in one of our plain manifests.
fn manifest(name: &str) -> Vec<String> {
    let path = format!(
        "{}/../deploy/kubernetes/disk/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(str::trim)
        .skip_while(|line| *line != "- name: azuredisk")
        .skip_while(|line| *line != "args:")
        .skip(1)
        .map_while(|line| line.strip_prefix("- "))
        .map(|argument| argument.trim_matches('"').to_owned())
        .collect()
}

#[test]
fn upstreams_controllers_start_with_their_arguments() {
    for text in [CHART_CONTROLLER, PLAIN_CONTROLLER] {
        let config = with(&lines(text));
        assert_eq!(config.mode, Mode::Controller);
        assert_eq!(config.driver, "disk.csi.azure.com");
        assert!(config.metrics.is_some_and(|at| at.port() == 29_604));
        assert!(!config.cloud.allow_empty);
    }
}

#[test]
fn upstreams_node_plugins_start_with_their_arguments() {
    for text in [CHART_NODE, PLAIN_NODE] {
        let config = with(&lines(text));
        assert_eq!(config.mode, Mode::Node);
        assert_eq!(config.node.id, "aks-1");
        assert!(config.metrics.is_some_and(|at| at.port() == 29_605));
        assert!(config.node.perf_optimization && config.node.zones);
    }
}

#[test]
fn our_manifests_pass_no_flag_that_has_no_effect() {
    for (name, mode) in [
        ("controller.yaml", Mode::Controller),
        ("node.yaml", Mode::Node),
    ] {
        let arguments = manifest(name);
        assert!(arguments.len() > 10, "{name}: {arguments:?}");
        let config = with(&arguments);
        assert_eq!(config.mode, mode, "{name}");
        assert_eq!(config.warnings, Vec::<String>::new(), "{name}");
    }
}

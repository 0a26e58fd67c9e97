//! Tests of `config`.

mod upstream_args;

use std::path::Path;
use std::time::Duration;

use azcsi_rpc::Endpoint;

use super::{Command, Config, ConfigError, Environment, Limits, Mode, read};

fn run(args: &[&str], env: &[(&str, &str)]) -> Result<Command, ConfigError> {
    let lookup = |name: &str| {
        let found = env.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let args = std::iter::once("azuredisk-csi").chain(args.iter().copied());
    read(args.map(Into::into), &Environment::of(lookup))
}

fn serve(args: &[&str]) -> Config {
    match run(args, &[]) {
        Ok(Command::Serve(config)) => *config,
        other => panic!("{other:?}"),
    }
}

fn wrong(args: &[&str]) -> String {
    match run(args, &[]) {
        Err(ConfigError::Wrong(line)) => line,
        other => panic!("{args:?}: {other:?}"),
    }
}

#[test]
fn without_flags_it_is_a_controller_with_the_defaults_of_old() {
    let config = serve(&[]);
    assert_eq!(
        (config.mode, config.driver.as_str()),
        (Mode::Controller, "disk.csi.azure.com")
    );
    assert!(matches!(config.endpoint, Endpoint::Unix(path) if path.ends_with("csi.sock")));
    assert_eq!(
        (config.metrics, config.verbosity, config.threads),
        (None, 2, 2)
    );
    let secret = ("kube-system".to_owned(), "azure-cloud-provider".to_owned());
    assert_eq!(config.cloud.secret, Some(secret));
    assert_eq!(config.cloud.file, Path::new("/etc/kubernetes/azure.json"));
    assert!(config.cloud.allow_empty && !config.cloud.file_is_named);
    let controller = config.controller;
    assert!(controller.online_resize && controller.lun_collision);
    assert_eq!(controller.migration, Some(Limits::default()));
    assert!(
        !controller.list_volumes && !controller.wait_for_snapshot && !controller.capacity_check
    );
    let node = config.node;
    assert_eq!(
        (node.attach_limit, node.reserved_slots, node.formats),
        (None, 0, 2)
    );
    assert_eq!(node.format_patience, Duration::from_secs(300));
    let taint = node.taint.unwrap();
    assert_eq!(
        (taint.delay, taint.forever),
        (Duration::from_secs(30), true)
    );
}

#[test]
fn the_controller_chart_is_read() {
    let config = serve(&[
        "--v=5",
        "--endpoint=unix:///csi/csi.sock",
        "--metrics-address=0.0.0.0:29604",
        "--disable-avset-nodes=false",
        "--vm-type=",
        "--drivername=disk.csi.azure.com",
        "--cloud-config-secret-name=azure-cloud-provider",
        "--cloud-config-secret-namespace=kube-system",
        "--custom-user-agent=",
        "--user-agent-suffix=OSS-helm",
        "--allow-empty-cloud-config=false",
        "--vmss-cache-ttl-seconds=-1",
        "--kube-api-qps=50",
        "--kube-api-burst=100",
        "--enable-traffic-manager=false",
        "--traffic-manager-port=7788",
        "--enable-otel-tracing=false",
        "--check-disk-lun-collision=true",
        "--vmss-detach-timeout-seconds=200",
    ]);
    assert_eq!(config.mode, Mode::Controller);
    assert_eq!(config.endpoint, Endpoint::Unix("/csi/csi.sock".into()));
    assert_eq!(config.metrics, Some("0.0.0.0:29604".parse().unwrap()));
    assert_eq!(
        (config.kubernetes.qps, config.kubernetes.burst),
        (50.0, 100)
    );
    assert_eq!(config.cloud.user_agent_suffix.as_deref(), Some("OSS-helm"));
    assert!(!config.cloud.allow_empty && config.cloud.traffic_manager.is_none());
    // One warning for each flag that has no meaning any more.
    assert_eq!(config.warnings.len(), 4, "{:?}", config.warnings);
}

#[test]
fn the_node_chart_is_read() {
    let config = serve(&[
        "-v=5",
        "--endpoint=unix:///csi/csi.sock",
        "--nodeid=aks-pool-vmss000001",
        "--metrics-address=0.0.0.0:29605",
        "--drivername=disk.csi.azure.com",
        "--volume-attach-limit=-1",
        "--reserved-data-disk-slot-num=2",
        "--cloud-config-secret-name=",
        "--cloud-config-secret-namespace=kube-system",
        "--enable-perf-optimization=true",
        "--allow-empty-cloud-config=true",
        "--support-zone=T",
        "--get-node-info-from-labels=false",
        "--get-nodeid-from-imds=0",
        "--enable-otel-tracing=false",
        "--remove-not-ready-taint=true",
        "-logtostderr",
    ]);
    assert_eq!((config.mode, config.verbosity), (Mode::Node, 5));
    assert_eq!(config.node.id, "aks-pool-vmss000001");
    assert_eq!(
        (config.node.attach_limit, config.node.reserved_slots),
        (None, 2)
    );
    assert!(config.node.perf_optimization && config.node.zones && !config.node.id_from_metadata);
    assert_eq!(config.cloud.secret, None);
    assert_eq!(config.warnings.len(), 2, "{:?}", config.warnings);
}

#[test]
fn a_node_registers_itself_where_it_is_told_to() {
    assert_eq!(serve(&["--nodeid=n"]).registrar, None);
    let config = serve(&[
        "--nodeid=n",
        "--endpoint=unix:///csi/csi.sock",
        "--drivername=test.csi.azure.com",
        "--built-in-registrar",
        "--health-address=localhost:29603",
    ]);
    let registrar = config.registrar.unwrap();
    assert_eq!(registrar.driver, "test.csi.azure.com");
    assert_eq!(
        registrar.endpoint,
        Path::new("/var/lib/kubelet/plugins/test.csi.azure.com/csi.sock")
    );
    assert_eq!(registrar.folder, Path::new("/registration"));
    assert_eq!(config.health, Some("127.0.0.1:29603".parse().unwrap()));
}

#[test]
fn services_are_chosen_by_word_by_flag_or_by_the_nodes_name() {
    for (args, mode) in [
        (vec!["controller"], Mode::Controller),
        (vec!["controller", "--nodeid=n"], Mode::Controller),
        (vec!["--mode", "all", "--nodeid", "n"], Mode::All),
        (vec!["all", "--mode=all", "--nodeid", "n"], Mode::All),
        (vec!["--nodeid", "n"], Mode::Node),
        (vec!["--get-nodeid-from-imds"], Mode::Node),
        (
            vec!["node", "--nodeid=n", "--endpoint", "tcp://127.0.0.1:0"],
            Mode::Node,
        ),
    ] {
        assert_eq!(serve(&args).mode, mode, "{args:?}");
    }
}

/// Arguments, and words that the refusal has to hold.
const WRONG: &[(&[&str], [&str; 3])] = &[
    (&["--v=x"], ["'x'", "--v", "0 to 10"]),
    (
        &["--mode=both"],
        ["'both'", "--mode", "controller, node or all"],
    ),
    (
        &["everything"],
        ["everything", "MODE", "controller, node or all"],
    ),
    (
        &["node"],
        ["node service", "--nodeid", "--get-nodeid-from-imds"],
    ),
    (&["node", "--mode=all"], ["--mode", "different", "only one"]),
    (&["--nodeid=a b"], ["'a b'", "--nodeid", "name of a node"]),
    (
        &["--endpoint=/csi.sock"],
        ["/csi.sock", "--endpoint", "unix:// or tcp://"],
    ),
    (
        &["--metrics-address=29604"],
        ["29604", "--metrics-address", "a port"],
    ),
    (
        &["--health-address=x"],
        ["'x'", "--health-address", "a port"],
    ),
    (
        &["controller", "--built-in-registrar"],
        ["--built-in-registrar", "node service", "kubelet"],
    ),
    (
        &[
            "--nodeid=n",
            "--built-in-registrar",
            "--endpoint=tcp://127.0.0.1:1",
        ],
        ["--built-in-registrar", "Unix socket", "--endpoint"],
    ),
    (
        &["--drivername=a/b"],
        ["'a/b'", "--drivername", "disk.csi.azure.com"],
    ),
    (
        &["--kube-api-qps=-1"],
        ["'-1'", "--kube-api-qps", "0 or more"],
    ),
    (
        &["--volume-attach-limit=many"],
        ["'many'", "--volume-attach-limit", "below 0"],
    ),
    (
        &["--max-concurrent-format=-2"],
        ["'-2'", "--max-concurrent-format", "from 0"],
    ),
    (
        &["--support-zone=maybe"],
        ["'maybe'", "--support-zone", "true, false"],
    ),
    (
        &["--vm-type=other"],
        ["'other'", "--vm-type", "vmss, vmssflex or standard"],
    ),
    (
        &["--traffic-manager-port=0"],
        ["'0'", "--traffic-manager-port", "1 to 65535"],
    ),
    (
        &["--metadata-endpoint=x"],
        ["'x'", "--metadata-endpoint", "http://"],
    ),
    (
        &["--identity-check=no"],
        ["'no'", "--identity-check", "strict or compat"],
    ),
    (
        &["--user-agent-suffix=a\nb"],
        ["a", "--user-agent-suffix", "ASCII"],
    ),
    (
        &["--no-such-flag"],
        ["--no-such-flag", "there is no flag", "--help"],
    ),
];

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for (args, words) in WRONG {
        let line = wrong(args);
        assert!(!line.contains('\n'), "{line:?}");
        for word in words {
            assert!(line.contains(word), "{line:?} lacks {word:?}");
        }
    }
}

#[test]
fn the_file_is_named_by_flag_or_environment() {
    let named = serve(&["--cloud-config=/tmp/azure.json"]).cloud;
    assert_eq!(
        (named.file.as_path(), named.file_is_named),
        (Path::new("/tmp/azure.json"), true)
    );
    assert_eq!(named.secret, None);
    let Ok(Command::Serve(config)) = run(&[], &[("AZURE_CREDENTIAL_FILE", " /x.json ")]) else {
        panic!("serves");
    };
    assert_eq!(config.cloud.file, Path::new("/x.json"));
    assert!(config.cloud.file_is_named && config.cloud.secret.is_some());
}

#[test]
fn a_hook_needs_the_nodes_name() {
    let line = wrong(&["--pre-stop-hook=true"]);
    assert!(line.contains("KUBE_NODE_NAME"), "{line}");
    let hook = run(&["--pre-stop-hook=true"], &[("KUBE_NODE_NAME", "n1")]);
    assert!(matches!(hook, Ok(Command::PreStop(hook)) if hook.node.as_str() == "n1"));
    let version = run(&["-version"], &[]);
    assert!(matches!(version, Ok(Command::Version { .. })));
}

#[test]
fn help_names_every_topic() {
    let Err(ConfigError::Help(text)) = run(&["--help"], &[]) else {
        panic!("help");
    };
    for topic in ["Process", "Kubernetes", "Azure", "Controller", "Node"] {
        assert!(text.contains(&format!("{topic}:")), "{topic}: {text}");
    }
}

#[test]
fn a_flag_that_there_is_not_is_one_line_with_the_remedy() {
    assert_eq!(
        wrong(&["--endpont=x"]),
        "there is no flag '--endpont': use '--endpoint', or see --help for all that there are"
    );
    assert_eq!(
        wrong(&["--zzzz"]),
        "there is no flag '--zzzz': leave it out, or see --help for all that there are"
    );
    let word = wrong(&["controller", "again"]);
    assert!(word.starts_with("there is no argument 'again': "), "{word}");
}

#[test]
fn limits_of_conversions_are_read_from_the_environment() {
    let controller = |timeouts: &str, most: &str| {
        let env = [
            ("MIGRATION_TIMEOUTS", timeouts),
            ("MAX_MIGRATION_TIMEOUT", most),
        ];
        match run(&[], &env) {
            Ok(Command::Serve(config)) => (config.controller.migration.unwrap(), config.warnings),
            other => panic!("{other:?}"),
        }
    };
    let hour = Duration::from_secs(3600);
    let (limits, warnings) = controller("2Ti=5h, 512Gi=90m", "30h");
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(limits.most, 30 * hour);
    let times: Vec<_> = limits
        .by_size
        .iter()
        .map(|(size, time)| (size.get(), *time))
        .collect();
    assert_eq!(
        times[..3],
        [(512, hour * 3 / 2), (2048, 5 * hour), (4096, 12 * hour)]
    );
    for wrong in ["x", "2Ti", "2Ti=", "2Pi=5h", "2Ti=5", "=5h"] {
        let (limits, warnings) = controller(wrong, "1d");
        assert_eq!((limits, warnings.len()), (Limits::default(), 2), "{wrong}");
    }
    match run(&["--enable-migration-monitor=false"], &[]) {
        Ok(Command::Serve(config)) => assert_eq!(config.controller.migration, None),
        other => panic!("{other:?}"),
    }
}

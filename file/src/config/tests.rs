//! Command lines as charts write them.

use super::{Command, Config, ConfigError, Environment, Mode, read};

fn parse(flags: &[&str]) -> Result<Command, ConfigError> {
    let args = std::iter::once("azurefile-csi").chain(flags.iter().copied());
    read(args.map(Into::into), &Environment::default())
}

fn config(flags: &[&str]) -> Config {
    match parse(flags).unwrap() {
        Command::Serve(config) => *config,
        Command::Version { .. } => panic!("{flags:?} asks for the version"),
    }
}

#[test]
fn nothing_given_is_a_controller_with_the_defaults_of_old() {
    let config = config(&[]);
    assert_eq!(config.mode, Mode::Controller);
    assert_eq!(config.driver, "file.csi.azure.com");
    assert!((config.kubernetes.qps - 25.0).abs() < f64::EPSILON);
    assert_eq!(config.node.permissions, 0o777);
    assert_eq!(config.controller.full_retry.as_secs(), 1800);
    assert!(!config.controller.delete_snapshots);
}

#[test]
fn a_chart_of_old_starts_and_retired_flags_are_told() {
    let config = config(&[
        "--v=5",
        "--endpoint=unix:///csi/csi.sock",
        "--nodeid=node-1",
        "--enable-windows-host-process=false",
        "--enable-azurefile-proxy=true",
        "--wait-for-azcopy-timeout-minutes=19",
        "--mount-permissions=0750",
        "--append-closetimeo-option",
        "--fsgroup-change-policy=Always",
        "--inline-volume-secret-authz=enforce",
        "--metrics-address=0.0.0.0:29615",
    ]);
    assert_eq!(config.mode, Mode::Node);
    assert_eq!(config.node.permissions, 0o750);
    assert_eq!(config.warnings.len(), 3, "{:?}", config.warnings);
    assert_eq!(config.registrar, None);
}

#[test]
fn a_node_registers_itself_where_it_is_told_to() {
    let config = config(&[
        "--nodeid=node-1",
        "--built-in-registrar=true",
        "--registration-dir=/var/lib/kubelet/plugins_registry",
        "--health-address=localhost:29613",
    ]);
    let registrar = config.registrar.unwrap();
    assert_eq!(registrar.driver, "file.csi.azure.com");
    assert!(registrar.endpoint.ends_with("file.csi.azure.com/csi.sock"));
    assert!(registrar.folder.ends_with("plugins_registry"));
    assert_eq!(config.health, Some("127.0.0.1:29613".parse().unwrap()));
}

#[test]
fn a_wrong_value_names_its_flag() {
    for flags in [
        &["--mode=both"][..],
        &["--mode=node"],
        &["--mount-permissions=9"],
        &["--fsgroup-change-policy=Maybe"],
        &["--inline-volume-secret-authz=maybe"],
        &["--drivername="],
        &["--metrics-address=nowhere"],
        &["--health-address=nowhere"],
        &["--built-in-registrar"],
        &["--no-such-flag"],
    ] {
        let ConfigError::Wrong(line) = parse(flags).unwrap_err() else {
            panic!("{flags:?}");
        };
        let name = flags[0].trim_start_matches("--").split('=').next().unwrap();
        let named = line.contains(name) || (name == "mode" && line.contains("nodeid"));
        assert!(named && !line.contains('\n'), "{flags:?}: {line}");
    }
}

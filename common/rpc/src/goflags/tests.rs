//! Tests of `goflags`.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, value_parser};

use super::{Form, Normalised, Retired, go_style, normalise};

const RETIRED: [Retired; 2] = [
    Retired {
        name: "max-procs",
        form: Form::Value,
        why: "the runtime sizes itself.",
    },
    Retired {
        name: "logtostderr",
        form: Form::Bool,
        why: "logs always go there.",
    },
];

fn command() -> Command {
    let boolean = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .value_parser(value_parser!(bool))
            .action(ArgAction::Set)
    };
    let command = Command::new("driver")
        .arg(
            Arg::new("v")
                .long("v")
                .value_parser(value_parser!(u8))
                .default_value("0"),
        )
        .arg(Arg::new("endpoint").long("endpoint").alias("csi-address"))
        .arg(boolean("enable-x").default_value("true"))
        .subcommand(Command::new("node").arg(boolean("support-zone")));
    go_style(command)
}

fn run<const N: usize>(args: [&str; N]) -> Normalised {
    let args = ["driver"].into_iter().chain(args).map(OsString::from);
    normalise(&command(), &RETIRED, args)
}

fn args(normalised: &Normalised) -> Vec<&str> {
    normalised.args[1..]
        .iter()
        .map(|arg| arg.to_str().unwrap())
        .collect()
}

#[test]
fn every_form_of_go_is_read() {
    let table: [(&[&str], &[&str]); 9] = [
        (&["-v=5"], &["--v=5"]),
        (&["-v", "5"], &["--v=5"]),
        (&["--v", "5"], &["--v=5"]),
        (&["-endpoint=unix:///a=b"], &["--endpoint=unix:///a=b"]),
        (&["-enable-x"], &["--enable-x=true"]),
        (
            &["--enable-x=F", "--enable-x=1"],
            &["--enable-x=false", "--enable-x=true"],
        ),
        (&["-csi-address", "-x"], &["--csi-address=-x"]),
        (
            &["node", "-support-zone=false"],
            &["node", "--support-zone=false"],
        ),
        (
            &["--v=1", "--", "-v", "-enable-x"],
            &["--v=1", "--", "-v", "-enable-x"],
        ),
    ];
    for (given, expected) in table {
        let given = given.iter().map(OsString::from);
        let all = [OsString::from("driver")].into_iter().chain(given);
        assert_eq!(args(&normalise(&command(), &RETIRED, all)), expected);
    }
}

#[test]
fn a_bare_boolean_does_not_eat_what_follows() {
    let normalised = run(["-enable-x", "node"]);
    assert_eq!(args(&normalised), ["--enable-x=true", "node"]);
}

#[test]
fn retired_flags_are_dropped_and_reported_once() {
    let normalised = run(["--max-procs=2", "-logtostderr", "-max-procs", "4", "-v=1"]);
    assert_eq!(args(&normalised), ["--v=1"]);
    assert_eq!(
        normalised.warnings,
        [
            "--max-procs has no effect: the runtime sizes itself.",
            "--logtostderr has no effect: logs always go there."
        ]
    );
}

#[test]
fn an_unknown_flag_reaches_clap() {
    let normalised = run(["-enable-y=true"]);
    assert_eq!(args(&normalised), ["-enable-y=true"]);
    assert!(command().try_get_matches_from(normalised.args).is_err());
}

#[test]
fn clap_reads_the_result_and_the_last_value_wins() {
    let normalised = run([
        "-v=5",
        "-enable-x=false",
        "-v",
        "6",
        "node",
        "-support-zone",
    ]);
    let matches = command().try_get_matches_from(normalised.args).unwrap();
    assert_eq!(matches.get_one("v"), Some(&6_u8));
    assert_eq!(matches.get_one("enable-x"), Some(&false));
    let (name, node) = matches.subcommand().unwrap();
    assert_eq!((name, node.get_one("support-zone")), ("node", Some(&true)));
}

#[test]
fn a_value_that_is_no_boolean_is_refused() {
    let normalised = run(["-enable-x=yes"]);
    assert_eq!(args(&normalised), ["--enable-x=yes"]);
    assert!(command().try_get_matches_from(normalised.args).is_err());
}

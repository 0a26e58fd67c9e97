//! One combination from start to end: the processes, the runs, and the proof that nothing is left.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use azcsi_rig::leftovers::{loops_below, mounts_below};
use azcsi_rig::rig::{Plan, Rig, Setup};
use azcsi_sanity::capabilities::{Advertised, DISK, ask, missing, plugin};
use azcsi_sanity::report::{Report, Verdict};
use serde_json::Value;

use crate::combination::Combination;
use crate::suite::{Asked, MARK, Results, Target, run};

/// What every run shares.
#[derive(Debug)]
pub(crate) struct Tools {
    /// Folder of azcsi-sim and azuredisk-csi.
    pub(crate) bin: PathBuf,
    /// The real csi-sanity.
    pub(crate) suite: PathBuf,
    /// Where reports go.
    pub(crate) reports: PathBuf,
    /// Held for as long as reports are written there: two runs must not judge each other's.
    _lock: File,
}

impl Tools {
    /// Looks whether they are there, before anything is started.
    ///
    /// # Errors
    /// What is missing, and what makes it.
    pub(crate) fn new(bin: PathBuf, suite: PathBuf, reports: &Path) -> Result<Self> {
        for (path, maker) in [
            (bin.join("azcsi-sim"), "cargo build -p azcsi-sim"),
            (bin.join("azuredisk-csi"), "cargo build -p azcsi-disk"),
            (suite.clone(), "test/sanity/build.sh"),
        ] {
            ensure!(
                path.is_file(),
                "{} does not exist: {maker} makes it",
                path.display()
            );
        }
        std::fs::create_dir_all(reports)
            .with_context(|| format!("no reports can be written to {}", reports.display()))?;
        let folder = reports.display();
        let lock = File::create(reports.join("lock"))
            .with_context(|| format!("no reports can be written to {folder}"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "another run writes its reports to {folder}: wait for it, or name another --reports"
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("locking {folder}"));
            }
        }
        Ok(Self {
            bin,
            suite,
            reports: std::path::absolute(reports)?,
            _lock: lock,
        })
    }
}

/// How one run of the suite ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// What the suite printed as its summary.
    pub(crate) summary: Vec<String>,
    /// The judgement.
    pub(crate) verdict: Verdict,
    /// Order of the specs.
    pub(crate) seed: u32,
}

/// Starts the processes of a combination.
///
/// # Errors
/// If one does not come up.
pub(crate) async fn start(
    tools: &Tools,
    combination: &Combination,
    dir: &Path,
    seed: u32,
) -> Result<Rig> {
    let plan = Plan {
        bin: tools.bin.clone(),
        dir: dir.to_owned(),
        nodes: 1,
        kind: combination.kind.name(),
        profile: combination.profile.name(),
        time_scale: combination.profile.time_scale(),
    };
    let flags = ["--enable-list-volumes=true", "--enable-list-snapshots=true"];
    let setup = Setup {
        topology: combination.topology,
        controller_args: flags.map(str::to_owned).to_vec(),
        seed: Some(u64::from(seed)),
        zones: combination.variant.zones(),
        ..Setup::default()
    };
    Rig::start_with(plan, setup).await
}

/// Asks for the capabilities, and says what is wrong with them.
///
/// # Errors
/// If a call fails.
pub(crate) async fn capabilities(rig: &Rig) -> Result<(Advertised, Vec<String>)> {
    let machine = rig.machines.first().context("no machine")?;
    let node = rig.node(machine)?;
    let advertised = ask(&rig.controller, node.node()).await?;
    let mut problems: Vec<String> = missing(DISK, &advertised)
        .into_iter()
        .map(|name| format!("{name} is not advertised"))
        .collect();
    let (here, there) = (
        plugin(rig.controller.identity()).await?,
        plugin(node.identity()).await?,
    );
    if here != there {
        problems.push(format!(
            "the controller says {here:?} of the plugin, the node {there:?}"
        ));
    }
    Ok((advertised, problems))
}

/// Runs the suite once.
///
/// # Errors
/// If it does not run, or leaves no report.
pub(crate) async fn suite(
    tools: &Tools,
    rig: &Rig,
    combination: &Combination,
    advertised: &Advertised,
    seed: u32,
) -> Result<Ran> {
    let machine = rig.machines.first().context("no machine")?;
    let target = Target {
        node: rig.node_socket(machine),
        controller: rig.controller_socket(),
        paths: machine.kubelet.clone(),
        inputs: rig.dir().to_owned(),
    };
    let asked = Asked {
        access: combination.access,
        variant: combination.variant,
        seed,
    };
    let results = Results::of(&tools.reports, &format!("{combination}-{seed}"));
    let ended = run(&tools.suite, &target, asked, &results).await?;
    let mut verdict = Report::read(&results.json)?.judge(advertised);
    let summary = results.summary()?;
    verdict.problems.extend(flaws(&summary, ended.success()));
    if !results.junit.exists() {
        verdict
            .problems
            .push("the suite wrote no JUnit file".to_owned());
    }
    Ok(Ran {
        summary,
        verdict,
        seed,
    })
}

/// What the suite says of itself has to agree with a report in which all is well.
fn flaws(summary: &[String], succeeded: bool) -> Vec<String> {
    let has = |start: &str| summary.iter().any(|line| line.starts_with(start));
    let mut found = Vec::new();
    if !(has("Ran ") && has("SUCCESS!")) {
        found.push(format!(
            "the suite's own summary is no success: {summary:?}"
        ));
    }
    if !succeeded {
        found.push("the suite's exit code is not 0".to_owned());
    }
    found
}

/// What is left in Azure and on the machine, and what must never have happened.
///
/// # Errors
/// If the simulator does not answer.
pub(crate) async fn leftovers(rig: &Rig) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for violation in rig.violations().await? {
        problems.push(format!("violation: {violation}"));
    }
    let state = rig.control.get("/_sim/state").await?;
    for kind in ["disks", "snapshots"] {
        for name in names(&state[kind]).with_context(|| format!("{kind} of the simulator"))? {
            problems.push(format!("left in Azure: {kind} {name}"));
        }
    }
    for path in mounts_below(rig.dir())? {
        problems.push(format!("left mounted: {}", path.display()));
    }
    for device in loops_below(rig.dir())? {
        problems.push(format!("left attached: {device}"));
    }
    problems.extend(logs(&rig.logs())?);
    Ok(problems)
}

/// Names in a list or a map of the simulator's state.
fn names(value: &Value) -> Option<Vec<String>> {
    let text = |entry: &Value| {
        let name = entry["name"].as_str().or_else(|| entry.as_str());
        name.map_or_else(|| entry.to_string(), str::to_owned)
    };
    match value {
        Value::Array(list) => Some(list.iter().map(text).collect()),
        Value::Object(map) => Some(map.keys().cloned().collect()),
        _ => None,
    }
}

/// Secrets and panics in the logs.
fn logs(folder: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let text = std::fs::read(&path)?;
        let text = String::from_utf8_lossy(&text);
        for (what, mark) in [("a secret", MARK), ("a panic", "panicked at")] {
            if let Some(line) = text.lines().find(|line| line.contains(mark)) {
                problems.push(format!("{what} in {}: {line}", path.display()));
            }
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_suite_that_does_not_call_itself_a_success_is_none() {
        let [ran, good, bad] = [
            "Ran 95 of 103 Specs",
            "SUCCESS! -- 95 Passed",
            "FAIL! -- 1 Failed",
        ];
        let lines = |list: &[&str]| {
            list.iter()
                .map(|line| (*line).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(flaws(&lines(&[ran, good]), true), Vec::<String>::new());
        assert_eq!(flaws(&lines(&[ran, good]), false).len(), 1);
        assert_eq!(flaws(&lines(&[ran, bad]), false).len(), 2);
        assert_eq!(flaws(&[], true).len(), 1);
    }

    #[test]
    fn names_are_read_from_lists_and_maps_and_nothing_else() {
        assert_eq!(
            names(&json!([{"name": "a"}, "b"])),
            Some(vec!["a".into(), "b".into()])
        );
        assert_eq!(names(&json!({"c": {}})), Some(vec!["c".into()]));
        assert_eq!(names(&Value::Null), None);
    }

    #[test]
    fn a_secret_and_a_panic_in_a_log_are_found() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.log"), format!("x\ntoken {MARK}-Y\n")).unwrap();
        std::fs::write(folder.path().join("b.log"), "thread panicked at x.rs\n").unwrap();
        std::fs::write(folder.path().join("c.log"), "fine\n").unwrap();
        let mut found = logs(folder.path()).unwrap();
        found.sort();
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("a panic in ") && found[1].starts_with("a secret in "));
    }
}

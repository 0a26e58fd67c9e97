//! One run of csi-sanity: its input files, its arguments, its reports.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::combination::{Access, Variant};

/// Part of every secret that is handed out. It must appear in no log of a process.
pub(crate) const MARK: &str = "sanity-must-stay-secret";

/// Requests that may carry secrets, as the suite's file names them.
const SECRETS: &[&str] = &[
    "CreateVolumeSecret",
    "DeleteVolumeSecret",
    "ControllerPublishVolumeSecret",
    "ControllerUnpublishVolumeSecret",
    "ControllerValidateVolumeCapabilitiesSecret",
    "NodeStageVolumeSecret",
    "NodePublishVolumeSecret",
    "CreateSnapshotSecret",
    "DeleteSnapshotSecret",
    "ControllerExpandVolumeSecret",
    "ControllerModifyVolumeSecret",
    "ListSnapshotsSecret",
    "GetSnapshotSecret",
];

const GIB: u64 = 1 << 30;

/// Where the suite finds what it tests.
#[derive(Debug)]
pub(crate) struct Target {
    /// The socket of the Node service.
    pub(crate) node: PathBuf,
    /// The socket of the Controller service.
    pub(crate) controller: PathBuf,
    /// An existing folder of the machine, for mounts.
    pub(crate) paths: PathBuf,
    /// An existing folder for the input files.
    pub(crate) inputs: PathBuf,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// Filesystem or device.
    pub(crate) access: Access,
    /// Sizes and classes.
    pub(crate) variant: Variant,
    /// Order of the specs.
    pub(crate) seed: u32,
}

/// Where the results of a run are.
#[derive(Debug)]
pub(crate) struct Results {
    /// For CI.
    pub(crate) junit: PathBuf,
    /// For the judgement.
    pub(crate) json: PathBuf,
    /// All that the suite printed.
    pub(crate) output: PathBuf,
}

impl Results {
    /// Files of one run in a folder.
    #[must_use]
    pub(crate) fn of(folder: &Path, name: &str) -> Self {
        Self {
            junit: folder.join(format!("{name}.xml")),
            json: folder.join(format!("{name}.json")),
            output: folder.join(format!("{name}.txt")),
        }
    }

    /// Removes the results of an earlier run, so that they cannot be taken for new ones.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub(crate) fn forget(&self) -> Result<()> {
        for path in [&self.junit, &self.json, &self.output] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("removing {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The lines in which the suite sums itself up.
    ///
    /// # Errors
    /// If nothing was written.
    pub(crate) fn summary(&self) -> Result<Vec<String>> {
        let text = std::fs::read_to_string(&self.output)?;
        let sums = |line: &&str| {
            line.starts_with("Ran ") || line.starts_with("SUCCESS!") || line.starts_with("FAIL!")
        };
        Ok(text.lines().filter(sums).map(str::to_owned).collect())
    }
}

impl Variant {
    const fn size(self) -> u64 {
        match self {
            Self::Zonal => GIB,
            Self::Usual | Self::NoClass => 10 * GIB,
        }
    }

    fn parameters(self) -> Option<Value> {
        match self {
            Self::Zonal => Some(json!({"skuName": "StandardSSD_ZRS"})),
            Self::Usual | Self::NoClass => None,
        }
    }

    fn class(self) -> Option<Value> {
        match self {
            Self::Usual => Some(json!({"skuName": "Premium_LRS"})),
            Self::Zonal => Some(json!({"skuName": "Premium_ZRS"})),
            Self::NoClass => None,
        }
    }
}

/// A secret for each request, each with the mark.
fn secrets() -> Value {
    let entries = SECRETS.iter().map(|name| {
        (
            (*name).to_owned(),
            json!({"token": format!("{MARK}-{name}")}),
        )
    });
    Value::Object(entries.collect())
}

fn write(folder: &Path, name: &str, value: &Value) -> Result<String> {
    let path = folder.join(name);
    // JSON is YAML.
    std::fs::write(&path, value.to_string())
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(path.display().to_string())
}

fn arguments(target: &Target, asked: Asked, results: &Results) -> Result<Vec<String>> {
    let (inputs, size) = (&target.inputs, asked.variant.size());
    let access = match asked.access {
        Access::Filesystem => "mount",
        Access::Block => "block",
    };
    let mut list = vec![
        "--ginkgo.no-color".to_owned(),
        "--ginkgo.timeout=30m".to_owned(),
        format!("--ginkgo.seed={}", asked.seed),
        format!("--ginkgo.junit-report={}", results.junit.display()),
        format!("--ginkgo.json-report={}", results.json.display()),
        format!("--csi.endpoint=unix://{}", target.node.display()),
        format!("--csi.mountdir={}", target.paths.join("mount").display()),
        format!(
            "--csi.stagingdir={}",
            target.paths.join("staging").display()
        ),
        format!(
            "--csi.secrets={}",
            write(inputs, "secrets.yaml", &secrets())?
        ),
        format!("--csi.testvolumeaccesstype={access}"),
        format!("--csi.testvolumesize={size}"),
        format!("--csi.testvolumeexpandsize={}", size + GIB),
        "--csi.testnodevolumeattachlimit".to_owned(),
    ];
    if target.controller != target.node {
        let endpoint = target.controller.display();
        list.push(format!("--csi.controllerendpoint=unix://{endpoint}"));
    }
    if let Some(value) = asked.variant.parameters() {
        let path = write(inputs, "parameters.yaml", &value)?;
        list.push(format!("--csi.testvolumeparameters={path}"));
    }
    if let Some(value) = asked.variant.class() {
        let path = write(inputs, "class.yaml", &value)?;
        list.push(format!("--csi.testvolumemutableparameters={path}"));
    }
    Ok(list)
}

/// Runs the suite to its end, and answers how it ended. What it found is in its results.
///
/// # Errors
/// If it cannot be started.
pub(crate) async fn run(
    program: &Path,
    target: &Target,
    asked: Asked,
    results: &Results,
) -> Result<ExitStatus> {
    results.forget()?;
    let output = std::fs::File::create(&results.output)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "a launcher of binaries; drivers spawn through azcsi-host"
    )]
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments(target, asked, results)?)
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output)
        // Ctrl-C reaches this program only; it then ends the others in order.
        .process_group(0)
        .kill_on_drop(true);
    azcsi_rig::process::ends_with_us(&mut command);
    let mut suite = command
        .spawn()
        .with_context(|| format!("starting {}", program.display()))?;
    Ok(suite.wait().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(variant: Variant, node: &str) -> Vec<String> {
        let inputs = tempfile::tempdir().unwrap();
        let target = Target {
            node: node.into(),
            controller: "/c.sock".into(),
            paths: "/paths".into(),
            inputs: inputs.path().to_owned(),
        };
        let asked = Asked {
            access: Access::Block,
            variant,
            seed: 7,
        };
        arguments(&target, asked, &Results::of(Path::new("/r"), "n")).unwrap()
    }

    fn has(list: &[String], start: &str) -> bool {
        list.iter().any(|argument| argument.starts_with(start))
    }

    #[test]
    fn nothing_is_ever_filtered_and_the_attach_limit_is_always_tested() {
        for variant in [Variant::Usual, Variant::Zonal, Variant::NoClass] {
            let list = given(variant, "/n.sock");
            for filter in ["--ginkgo.skip", "--ginkgo.focus", "--ginkgo.label-filter"] {
                assert!(!has(&list, filter), "{filter}");
            }
            assert!(has(&list, "--csi.testnodevolumeattachlimit"));
        }
    }

    #[test]
    fn one_endpoint_is_named_once() {
        let flag = "--csi.controllerendpoint";
        assert!(has(&given(Variant::Usual, "/n.sock"), flag));
        assert!(!has(&given(Variant::Usual, "/c.sock"), flag));
    }

    #[test]
    fn a_class_is_given_unless_the_variant_is_to_have_none() {
        let flag = "--csi.testvolumemutableparameters";
        assert!(has(&given(Variant::Usual, "/n.sock"), flag));
        assert!(!has(&given(Variant::NoClass, "/n.sock"), flag));
    }

    #[test]
    fn results_of_an_earlier_run_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::of(folder.path(), "n");
        std::fs::write(&results.json, "old").unwrap();
        results.forget().unwrap();
        results.forget().unwrap();
        assert!(!results.json.exists());
    }

    #[test]
    fn the_summary_is_the_suites_own() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::of(folder.path(), "n");
        let text = "noise\n\nRan 102 of 103 Specs in 1.000 seconds\nSUCCESS! -- 102 Passed\nPASS\n";
        std::fs::write(&results.output, text).unwrap();
        let lines = results.summary().unwrap();
        assert_eq!(
            lines,
            [
                "Ran 102 of 103 Specs in 1.000 seconds",
                "SUCCESS! -- 102 Passed"
            ]
        );
    }
}

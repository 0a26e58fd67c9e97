//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::output::Format;

/// Converts in-tree Azure volumes of a Kubernetes cluster to CSI ones, with an undo.
#[derive(Debug, Parser)]
#[command(name = "azcsi-migrate", version)]
pub struct Cli {
    /// Kubeconfig; without it the service account of the pod.
    #[arg(long, global = true, env = "KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// How results are printed.
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Table)]
    pub output: Format,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Translate one object from a file or standard input, as Kubernetes does.
    Translate(Translate),
    /// List in-tree volumes and say which can be converted. Exit code 3: some can, 4: some are blocked.
    Scan(Scan),
    /// Write a plan file.
    Plan(Plan),
    /// Show what a plan changes. Exit code 3: something.
    Diff(OfPlan),
    /// Carry a plan out. Without --execute only the server is asked.
    Apply(Apply),
    /// Show how far conversions are.
    Status(State),
    /// Go on with conversions that stopped.
    Resume(Work),
    /// Check converted volumes against their originals.
    Verify(Work),
    /// Put the originals back.
    Rollback(Work),
    /// Put reclaim policies back and close the journal.
    Finalize(Finalize),
    /// Convert manifests on disk; comments stay.
    Offline(Offline),
}

/// Arguments of `translate`.
#[derive(Debug, Args)]
pub struct Translate {
    /// What is translated into what.
    #[arg(long, value_parser = direction)]
    pub direction: azcsi_migration::request::Direction,
    /// How much is refused.
    #[arg(long, value_parser = mode, default_value = "compat")]
    pub mode: azcsi_migration::Mode,
    /// The file; standard input when absent.
    pub file: Option<PathBuf>,
}

fn direction(text: &str) -> Result<azcsi_migration::request::Direction, String> {
    azcsi_migration::request::Direction::of_name(text).ok_or_else(|| {
        "pv-to-csi, pv-from-csi, inline-to-csi, storageclass-to-csi or topology".to_owned()
    })
}

fn mode(text: &str) -> Result<azcsi_migration::Mode, String> {
    azcsi_migration::Mode::of_name(text).ok_or_else(|| "compat or strict".to_owned())
}

/// Which volumes.
#[derive(Clone, Debug, Default, Args)]
pub struct Select {
    /// Only this volume; can be given again.
    #[arg(long)]
    pub pv: Vec<String>,
    /// Only the volume of this claim, as namespace/name; can be given again.
    #[arg(long)]
    pub pvc: Vec<String>,
    /// Only volumes of claims in this namespace.
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// Only volumes with these labels, as key=value,….
    #[arg(short = 'l', long)]
    pub selector: Option<String>,
    /// Only volumes of this class.
    #[arg(long)]
    pub class: Option<String>,
    /// Only volumes of this plugin.
    #[arg(long, value_enum)]
    pub plugin: Option<PluginName>,
    /// At most so many.
    #[arg(long)]
    pub limit: Option<usize>,
}

/// A plugin on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PluginName {
    /// kubernetes.io/azure-disk
    Disk,
    /// kubernetes.io/azure-file
    File,
}

/// What Azure says.
#[derive(Clone, Debug, Default, Args)]
pub struct FactFiles {
    /// Output of `az disk list -o json`.
    #[arg(long)]
    pub azure_disks: Option<PathBuf>,
    /// Output of `az storage account list -o json`.
    #[arg(long)]
    pub azure_accounts: Option<PathBuf>,
    /// Look at the secrets of file volumes, to see whether they are complete.
    #[arg(long)]
    pub check_secrets: bool,
    /// The filesystem of disks that do not say it.
    #[arg(long)]
    pub assume_fstype: Option<String>,
}

/// Arguments of `scan`.
#[derive(Debug, Args)]
pub struct Scan {
    /// Which volumes.
    #[command(flatten)]
    pub select: Select,
    /// What Azure says.
    #[command(flatten)]
    pub facts: FactFiles,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// Which volumes.
    #[command(flatten)]
    pub select: Select,
    /// What Azure says.
    #[command(flatten)]
    pub facts: FactFiles,
    /// The plan file.
    #[arg(long, default_value = "plan.json")]
    pub out: PathBuf,
    /// Keep claims and their uids; the protection of the volume is then lifted by this tool.
    #[arg(long)]
    pub keep_pvc: bool,
    /// Cache mode ReadWrite becomes ReadOnly.
    #[arg(long)]
    pub rw_cache_to_readonly: bool,
    /// The manifests in Git are taken care of.
    #[arg(long)]
    pub gitops_acknowledged: bool,
    /// Wait for pods that this tool cannot pause.
    #[arg(long)]
    pub wait_for_operator: bool,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct OfPlan {
    /// The plan file.
    #[arg(long, default_value = "plan.json")]
    pub plan: PathBuf,
}

/// Where the journal is.
#[derive(Clone, Debug, Args)]
pub struct State {
    /// Folder of the journal files.
    #[arg(long, default_value = "azcsi-migrate.d")]
    pub journal: PathBuf,
    /// Namespace of the journal's ConfigMaps and of the leases.
    #[arg(long, default_value = "kube-system")]
    pub tool_namespace: String,
}

/// Arguments of `apply`.
#[derive(Debug, Args)]
pub struct Apply {
    /// The plan file.
    #[arg(long, default_value = "plan.json")]
    pub plan: PathBuf,
    /// Change the cluster.
    #[arg(long, requires = "confirm")]
    pub execute: bool,
    /// The hash of the plan, as `plan` and the dry run print it.
    #[arg(long)]
    pub confirm: Option<String>,
    /// Stop after so many failures.
    #[arg(long, default_value_t = 1)]
    pub max_failures: usize,
    /// The longest wait for pods, attachments and controllers, in seconds.
    #[arg(long, default_value_t = 300)]
    pub wait: u64,
    /// Where the journal is.
    #[command(flatten)]
    pub state: State,
}

/// Arguments of `resume`, `verify` and `rollback`.
#[derive(Debug, Args)]
pub struct Work {
    /// Only this volume; can be given again. Without it, all in the journal.
    #[arg(long)]
    pub pv: Vec<String>,
    /// The longest wait for pods, attachments and controllers, in seconds.
    #[arg(long, default_value_t = 300)]
    pub wait: u64,
    /// Where the journal is.
    #[command(flatten)]
    pub state: State,
}

/// Arguments of `finalize`.
#[derive(Debug, Args)]
pub struct Finalize {
    /// Which volumes.
    #[command(flatten)]
    pub work: Work,
    /// How long workloads must have run, in seconds.
    #[arg(long, default_value_t = 24 * 3600)]
    pub soak: u64,
}

/// Arguments of `offline`.
#[derive(Debug, Args)]
pub struct Offline {
    /// Files; standard input when absent.
    pub files: Vec<PathBuf>,
    /// Write the files in place, instead of printing them.
    #[arg(long)]
    pub write: bool,
    /// The filesystem of disks that do not say it; the API server would store ext4.
    #[arg(long)]
    pub assume_fstype: Option<String>,
    /// Cache mode ReadWrite becomes ReadOnly.
    #[arg(long)]
    pub rw_cache_to_readonly: bool,
}

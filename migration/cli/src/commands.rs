//! What each command does. A command answers with its text and its exit code; printing is for `main`.

mod apply;
mod diff;
mod offline;
mod plan;
mod scan;
mod status;
mod translate;
mod work;

use std::sync::Arc;
use std::time::Duration;

use azcsi_kube::objects::Objects;
use azcsi_kube::{Kube, Options};
use azcsi_types::clock::Clock;

use crate::args::{Cli, Command, FactFiles, State};
use crate::engine::{Engine, Tell, Timing};
use crate::facts::Facts;
use crate::failure::{Exit, Failure};
use crate::inventory::Inventory;
use crate::journal::Journal;
use crate::output::Format;
use crate::verdict::Wishes;

/// What a command has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// For standard output.
    pub text: String,
    /// The exit code.
    pub exit: Exit,
}

impl Report {
    /// A success.
    #[must_use]
    pub const fn done(text: String) -> Self {
        Self {
            text,
            exit: Exit::Done,
        }
    }
}

/// What a command works with.
#[derive(Clone)]
pub struct World {
    /// The cluster.
    pub objects: Objects,
    /// How results are printed.
    pub format: Format,
    /// Who this converter is, in leases.
    pub holder: String,
    /// Where progress is told.
    pub tell: Tell,
    /// How long things may take.
    pub timing: Timing,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("holder", &self.holder)
            .finish_non_exhaustive()
    }
}

impl World {
    fn journal(&self, state: &State) -> Journal {
        Journal::new(
            state.journal.clone(),
            self.objects.clone(),
            state.tool_namespace.clone(),
        )
    }

    fn engine(&self, state: &State, wait: u64) -> Engine {
        let timing = Timing {
            wait: Duration::from_secs(wait),
            ..self.timing
        };
        let tell = Arc::clone(&self.tell);
        Engine::new(
            self.objects.clone(),
            self.journal(state),
            self.holder.clone(),
            timing,
            tell,
        )
    }

    async fn inventory(&self, files: &FactFiles) -> Result<(Inventory, Facts), Failure> {
        let facts = Facts::read(
            files.azure_disks.as_deref(),
            files.azure_accounts.as_deref(),
        )?;
        let mut inventory = Inventory::read(&self.objects).await?;
        if files.check_secrets {
            inventory.read_secrets(&self.objects).await?;
        }
        for what in &inventory.unread {
            (self.tell)(&format!("not read: {what}"));
        }
        Ok((inventory, facts))
    }
}

fn wishes(files: &FactFiles) -> Wishes {
    Wishes {
        assume_fs_type: files.assume_fstype.clone(),
        tame_cache: false,
    }
}

/// Runs a command, connecting to the cluster only when it needs one.
///
/// # Errors
/// As the command.
pub async fn run(
    cli: Cli,
    clock: Arc<dyn Clock>,
    holder: String,
    tell: Tell,
) -> Result<Report, Failure> {
    let format = cli.output;
    let command = match cli.command {
        Command::Translate(args) => return translate::run(&args),
        Command::Offline(args) => return offline::run(&args, &tell),
        Command::Diff(args) => return diff::run(&args, format),
        other => other,
    };
    let options = Options {
        kubeconfig: cli.kubeconfig,
        user_agent: "azcsi-migrate".to_owned(),
        ..Options::default()
    };
    let kube = Kube::connect(&options, clock)
        .await
        .map_err(|error| Failure::Connect(azcsi_types::fault::report(&error)))?
        .ok_or_else(|| Failure::Usage("give --kubeconfig: this is no pod".to_owned()))?;
    let world = World {
        objects: Objects::new(kube),
        format,
        holder,
        tell,
        timing: Timing::default(),
    };
    Box::pin(in_cluster(&world, command)).await
}

/// Runs a command against a cluster.
///
/// # Errors
/// As the command.
pub async fn in_cluster(world: &World, command: Command) -> Result<Report, Failure> {
    match command {
        Command::Scan(args) => scan::run(world, &args).await,
        Command::Plan(args) => plan::run(world, &args).await,
        Command::Apply(args) => Box::pin(apply::run(world, &args)).await,
        Command::Status(args) => status::run(world, &args).await,
        Command::Resume(args) => Box::pin(work::resume(world, &args)).await,
        Command::Verify(args) => Box::pin(work::verify(world, &args)).await,
        Command::Rollback(args) => Box::pin(work::rollback(world, &args)).await,
        Command::Finalize(args) => Box::pin(work::finalize(world, &args)).await,
        Command::Translate(args) => translate::run(&args),
        Command::Offline(args) => offline::run(&args, &world.tell),
        Command::Diff(args) => diff::run(&args, world.format),
    }
}

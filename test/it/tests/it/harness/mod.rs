//! Every operation of both controllers, hurt at every request that it makes: what follows must be as
//! if nothing had happened.
//!
//! | file | holds |
//! |---|---|
//! | `engine` | the checks, for any driver |
//! | `mishap` | what happens to a request, and which codes are allowed then |
//! | `inventory` | everything that Azure and Kubernetes hold, in lines |
//! | `disk`, `file` | the operations |
//!
//! A clean run says which requests an operation makes. Each of them is then hurt in each way, in a
//! world of its own, and the call is repeated until it is done. In the end the world must hold what
//! it holds after the clean run: nothing lost, nothing twice, nothing left over. A report line names
//! the operation, the request by its number and class, what happened to it, and what was wrong.
//! Of polls in a row, the first two and the last are hurt.
//!
//! Kills are all tried. Of the faults, `make test` tries one in eleven, `make full` all
//! (`AZCSI_FAULT_EVERY`). Not hurt by faults yet, only by kills: a File share whose account is made with it.

mod disk;
mod engine;
mod file;
mod inventory;
mod mishap;

use engine::{crashes, faults};

/// What came of all checks.
#[derive(Debug, Default)]
struct Report {
    checks: usize,
    wrong: Vec<String>,
}

impl Report {
    fn add(&mut self, what: &str, result: Result<(), String>) {
        self.checks += 1;
        if let Err(reason) = result {
            self.wrong.push(format!("{what}: {reason}"));
        }
    }
}

/// Fails with all lines of a report.
fn assert_none(report: &Report) {
    let lines = report.wrong.join("\n");
    let (wrong, all) = (report.wrong.len(), report.checks);
    assert!(wrong == 0, "{wrong} of {all} checks:\n{lines}");
    assert!(all > 0, "nothing was checked");
}

/// One of how many faults is tried.
#[expect(
    clippy::disallowed_methods,
    reason = "a test's size is set from outside"
)]
fn every() -> usize {
    let wanted = std::env::var("AZCSI_FAULT_EVERY");
    wanted.map_or(11, |text| {
        text.parse().expect("AZCSI_FAULT_EVERY is a number")
    })
}

use disk::Rpc as D;
use file::Rpc as F;

#[test]
fn a_disk_controller_killed_while_it_makes_a_disk_is_made_good_by_the_next_one() {
    let wanted = |rpc| matches!(rpc, D::Create | D::Restore | D::Clone | D::Delete);
    assert_none(&crashes::<disk::Disk>(wanted));
}

#[test]
fn a_disk_controller_killed_while_it_moves_a_disk_is_made_good_by_the_next_one() {
    let wanted = |rpc| matches!(rpc, D::Publish(_) | D::Unpublish(_));
    assert_none(&crashes::<disk::Disk>(wanted));
}

#[test]
fn a_disk_controller_killed_while_it_changes_a_disk_is_made_good_by_the_next_one() {
    let wanted = |rpc| matches!(rpc, D::Expand | D::Modify);
    assert_none(&crashes::<disk::Disk>(wanted));
}

#[test]
fn a_disk_controller_killed_while_it_keeps_a_snapshot_is_made_good_by_the_next_one() {
    let wanted = |rpc| matches!(rpc, D::Snapshot | D::SnapshotElsewhere | D::DeleteSnapshot);
    assert_none(&crashes::<disk::Disk>(wanted));
}

#[test]
fn a_file_controller_killed_at_any_request_is_made_good_by_the_next_one() {
    let wanted = |rpc| {
        matches!(
            rpc,
            F::Create | F::Delete | F::Expand | F::Modify | F::Snapshot | F::DeleteSnapshot
        )
    };
    assert_none(&crashes::<file::File>(wanted));
}

#[test]
fn a_file_controller_killed_while_it_makes_an_account_is_made_good_by_the_next_one() {
    assert_none(&crashes::<file::File>(|rpc| rpc == F::CreateFirst));
}

#[test]
fn a_file_controller_killed_over_a_directory_is_made_good_by_the_next_one() {
    let wanted = |rpc| {
        matches!(
            rpc,
            F::CreateDirectory | F::DeleteDirectory | F::ExpandDirectory
        )
    };
    assert_none(&crashes::<file::File>(wanted));
}

#[test]
fn a_file_controller_killed_while_it_copies_is_made_good_by_the_next_one() {
    let wanted = |rpc| matches!(rpc, F::Restore | F::Clone);
    assert_none(&crashes::<file::File>(wanted));
}

#[test]
fn a_disk_controller_answers_any_fault_with_an_allowed_code_and_gets_there() {
    assert_none(&faults::<disk::Disk>(every(), |_| true));
}

#[test]
fn a_file_controller_answers_any_fault_with_an_allowed_code_and_gets_there() {
    let wanted = |rpc| !matches!(rpc, F::CreateFirst);
    assert_none(&faults::<file::File>(every(), wanted));
}

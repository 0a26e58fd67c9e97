//! The cases. Each has data that is checked byte for byte.
//!
//! | module | holds |
//! |---|---|
//! | [`life`] | life cycles on SCSI and NVMe, filesystem and block |

pub mod life;

use std::pin::Pin;

use anyhow::Result;

use crate::lab::Lab;

/// What a case does.
pub type Steps = for<'a> fn(&'a mut Lab) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// A case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Whether it is part of the selection for each submission.
    pub quick: bool,
    /// What it does.
    pub steps: Steps,
}

const fn case(name: &'static str, about: &'static str, steps: Steps) -> Case {
    Case {
        name,
        about,
        quick: true,
        steps,
    }
}

/// All of them, in the order in which they run.
pub const ALL: &[Case] = &[
    case(
        "life-scsi-ext4",
        "a filesystem on a SCSI disk, from create to delete, and again after a detach",
        |lab| Box::pin(life::scsi_ext4(lab)),
    ),
    case("life-scsi-block", "a raw SCSI disk", |lab| {
        Box::pin(life::scsi_block(lab))
    }),
    case(
        "life-nvme-xfs",
        "a filesystem on an NVMe namespace",
        |lab| Box::pin(life::nvme_xfs(lab)),
    ),
    case("life-nvme-block", "a raw NVMe namespace", |lab| {
        Box::pin(life::nvme_block(lab))
    }),
];

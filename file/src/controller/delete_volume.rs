//! DeleteVolume: only what was made for the volume, and never what others use.
//!
//! A directory goes if its own record says that it is the volume's and may go; the share that it is in
//! never goes with it. A share goes if a driver made it for this volume and nothing else is in it; its
//! snapshots never go with it unless that is switched on. A share that somebody else made, or that
//! other volumes use, stays, and the volume counts as deleted.

use std::sync::Arc;

use azcsi_cloud::{ArmError, SnapshotsToo};
use azcsi_proto::csi::v1;
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::op::Op;
use azcsi_types::share_handle::ShareHandle;

use super::Controller;
use super::common::{Located, in_share_guard, share_guard, volume_guard};
use super::credentials::{self, Credentials};
use super::delete_directory;
use super::error::ControllerError;
use super::ports::Use;
use super::record::{self, Owner};

/// The RPC.
#[derive(Debug)]
pub struct DeleteVolume;

/// The request. An id that names no share names nothing that could be deleted.
#[derive(Clone, Debug)]
pub struct Request {
    volume: Option<ShareHandle>,
    secrets: Option<Credentials>,
}

/// What a delete does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole share goes.
    Share,
    /// Nothing goes, for this reason.
    Nothing(&'static str),
}

/// What is known of the share of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whose it is.
    pub owner: Owner,
    /// Whether the class named it, so that other volumes may be in it.
    pub named: bool,
    /// Whether the volume is a file or a directory in it.
    pub part: bool,
    /// Whether another volume is in it.
    pub others: Use,
}

/// What a delete does with a share.
#[must_use]
pub const fn decide(facts: Facts) -> Verdict {
    if facts.part {
        return Verdict::Nothing("the volume is only a part of the share");
    }
    match (facts.owner, facts.named, facts.others) {
        (Owner::Somebody, ..) => Verdict::Nothing("no driver made the share"),
        (Owner::OtherVolume, ..) => Verdict::Nothing("the share was made for another volume"),
        (_, _, Use::Shared) => Verdict::Nothing("other volumes use the share"),
        (Owner::Driver, true, _) => Verdict::Nothing("it cannot be told whose the share is"),
        (Owner::Volume, true, Use::Unknown | Use::Unread) => {
            Verdict::Nothing("it cannot be told whether other volumes use the share")
        }
        (Owner::Volume | Owner::Driver, _, _) => Verdict::Share,
    }
}

impl Handler for DeleteVolume {
    type Ctx = Controller;
    type Wire = v1::DeleteVolumeRequest;
    type WireReply = v1::DeleteVolumeResponse;
    type Request = Request;
    type Reply = ();
    type Error = ControllerError;
    const METHOD: Method = Method::DeleteVolume;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        let id = validate::required("volume_id", wire.volume_id)?;
        let secrets = credentials::read(wire.secrets)?;
        let volume = id.parse();
        if let Err(error) = &volume {
            tracing::warn!(%error, "deleted is what cannot be: nothing was done");
        }
        Ok(Request {
            volume: volume.ok(),
            secrets,
        })
    }

    fn scope(request: &Request) -> Scope {
        let Some(volume) = &request.volume else {
            return Scope::Read;
        };
        let parts = volume.parts();
        let mut guards: Vec<_> = parts
            .unique
            .as_deref()
            .map(volume_guard)
            .into_iter()
            .collect();
        guards.push(match is_part(volume) {
            true => in_share_guard(&parts.share),
            false => share_guard(&parts.share),
        });
        Scope::Operation {
            guards,
            fingerprint: volume.folded(),
        }
    }

    async fn run(ctx: Arc<Controller>, request: Request, op: Op) -> Result<(), ControllerError> {
        let Some(volume) = request.volume else {
            return Ok(());
        };
        let at = ctx
            .locate(&op, volume.parts(), request.secrets.as_ref())
            .await?;
        let Some(share) = ctx.find_share(&op, &at).await? else {
            return Ok(());
        };
        let parts = volume.parts();
        if parts.directory.is_some() {
            let secrets = request.secrets.as_ref();
            return delete_directory::delete(&ctx, &op, (&volume, &at), secrets).await;
        }
        let facts = Facts {
            owner: record::owner(&share, &ctx.settings.driver, parts.unique.as_deref()),
            named: parts.unique.is_some(),
            part: is_part(&volume),
            others: ctx.ports.volumes.others(&volume).await,
        };
        match decide(facts) {
            Verdict::Nothing(reason) => {
                tracing::warn!(%volume, reason, "the share stays");
                Ok(())
            }
            Verdict::Share => delete_share(&ctx, &op, &at).await,
        }
    }

    fn encode((): ()) -> Self::WireReply {
        v1::DeleteVolumeResponse {}
    }
}

fn is_part(volume: &ShareHandle) -> bool {
    volume.parts().disk.is_some() || volume.parts().directory.is_some()
}

async fn delete_share(ctx: &Controller, op: &Op, at: &Located) -> Result<(), ControllerError> {
    let snapshots = match ctx.settings.delete_snapshots {
        true => SnapshotsToo::Yes,
        false => SnapshotsToo::No,
    };
    match at.access.delete(op, &at.share, snapshots).await {
        Ok(()) => Ok(()),
        Err(error) if error.has_share_snapshots() => Err(snapshots_left(op, at).await),
        Err(error) => Err(failed(at, error)),
    }
}

fn failed(at: &Located, error: ArmError) -> ControllerError {
    let doing = format!("deleting share {} of {}", at.share, at.account.name());
    ControllerError::azure(doing, error)
}

async fn snapshots_left(op: &Op, at: &Located) -> ControllerError {
    let count = match at.access.history(op, &at.share).await {
        Ok(found) => format!("{} snapshots", found.snapshots.len()),
        Err(_) => "snapshots".to_owned(),
    };
    ControllerError::State(format!(
        "share {} of account {} has {count}, which would be lost with it: delete them first",
        at.share,
        at.account.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::{Facts, Owner, Use, Verdict, decide};

    fn facts(owner: Owner, named: bool, others: Use) -> Verdict {
        decide(Facts {
            owner,
            named,
            part: false,
            others,
        })
    }

    #[test]
    fn only_a_share_of_ones_own_goes_pr_17() {
        for (owner, named, others) in [
            (Owner::Volume, false, Use::Unknown),
            (Owner::Volume, false, Use::Alone),
            (Owner::Driver, false, Use::Unknown),
            (Owner::Volume, true, Use::Alone),
        ] {
            assert_eq!(
                facts(owner, named, others),
                Verdict::Share,
                "{owner:?} {named}"
            );
        }
        for (owner, named, others) in [
            (Owner::Volume, true, Use::Shared),
            (Owner::Volume, true, Use::Unknown),
            (Owner::Volume, true, Use::Unread),
            (Owner::Volume, false, Use::Shared),
            (Owner::Driver, true, Use::Alone),
            (Owner::OtherVolume, true, Use::Alone),
            (Owner::Somebody, false, Use::Alone),
            (Owner::Somebody, true, Use::Alone),
        ] {
            let verdict = facts(owner, named, others);
            assert!(matches!(verdict, Verdict::Nothing(_)), "{owner:?} {named}");
        }
    }

    #[test]
    fn a_part_never_takes_its_share_along() {
        for owner in [Owner::Volume, Owner::Driver] {
            let facts = Facts {
                owner,
                named: false,
                part: true,
                others: Use::Alone,
            };
            assert!(matches!(decide(facts), Verdict::Nothing(_)));
        }
    }
}

//! ListSnapshots: all, those of one volume, or one by its id.

use std::sync::Arc;

use azcsi_cloud::Snapshot;
use azcsi_proto::csi::v1;
use azcsi_rpc::paging::{Page, Sorted, page};
use azcsi_rpc::{Handler, Method, Scope};
use azcsi_types::disk_uri::{DiskUri, SnapshotUri};
use azcsi_types::op::Op;

use super::Controller;
use super::error::ControllerError;
use super::get_snapshot::{Taken, listed, to_wire};
use super::list_volumes::{PageRequest, page_request};
use super::snapshot_plan;

/// The RPC.
#[derive(Debug)]
pub struct ListSnapshots;

/// Which snapshots are asked for.
#[derive(Clone, Debug)]
pub enum Filter {
    /// All.
    All,
    /// Those of a disk.
    Of(DiskUri),
    /// One, if it is one of the disk, where a disk is named.
    One(SnapshotUri, Option<DiskUri>),
    /// None: what is named is no disk's and no snapshot's id.
    None,
}

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    page: PageRequest,
    filter: Filter,
}

impl Handler for ListSnapshots {
    type Ctx = Controller;
    type Wire = v1::ListSnapshotsRequest;
    type WireReply = v1::ListSnapshotsResponse;
    type Request = Request;
    type Reply = Page<Taken>;
    type Error = ControllerError;
    const METHOD: Method = Method::ListSnapshots;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<Request, ControllerError> {
        Ok(Request {
            page: page_request::<SnapshotUri>(wire.max_entries, wire.starting_token)?,
            filter: filter(&wire.snapshot_id, &wire.source_volume_id),
        })
    }

    fn scope(_: &Request) -> Scope {
        Scope::Read
    }

    async fn run(
        ctx: Arc<Controller>,
        request: Request,
        op: Op,
    ) -> Result<Page<Taken>, ControllerError> {
        let after = request.page.after;
        let home = &ctx.settings.location;
        let matching: Vec<(String, Taken)> = match request.filter {
            Filter::None => Vec::new(),
            Filter::One(uri, disk) => {
                let found = ctx.find_snapshot(&op, &uri).await?.into_iter();
                found
                    .filter(|found| is_wanted(found, disk.as_ref()))
                    .filter_map(|found| Some((found.id.folded(), listed(&found, home)?)))
                    .collect()
            }
            Filter::All => ctx.snapshots_of(&op, after.is_some(), None).await?,
            Filter::Of(disk) => ctx.snapshots_of(&op, after.is_some(), Some(&disk)).await?,
        };
        Ok(page(&matching, after.as_deref(), request.page.most))
    }

    fn encode(reply: Page<Taken>) -> Self::WireReply {
        let entry = |taken: &Taken| v1::list_snapshots_response::Entry {
            snapshot: Some(to_wire(taken)),
        };
        v1::ListSnapshotsResponse {
            entries: reply.items.iter().map(entry).collect(),
            next_token: reply.next,
        }
    }
}

fn filter(snapshot: &str, disk: &str) -> Filter {
    let wanted = (!disk.is_empty()).then(|| disk.parse::<DiskUri>());
    let disk = match wanted {
        Some(Err(_)) => return Filter::None,
        Some(Ok(disk)) => Some(disk),
        None => None,
    };
    match (snapshot, disk) {
        ("", None) => Filter::All,
        ("", Some(disk)) => Filter::Of(disk),
        (snapshot, disk) => snapshot
            .parse()
            .map_or(Filter::None, |snapshot| Filter::One(snapshot, disk)),
    }
}

fn is_wanted(snapshot: &Snapshot, disk: Option<&DiskUri>) -> bool {
    disk.is_none_or(|disk| snapshot_plan::is_of(snapshot, disk))
}

impl Controller {
    async fn snapshots_of(
        &self,
        op: &Op,
        continued: bool,
        disk: Option<&DiskUri>,
    ) -> Result<Vec<(String, Taken)>, ControllerError> {
        let all = self.all_snapshots(op, continued).await?;
        let home = &self.settings.location;
        let wanted = all.iter().filter(|(_, snapshot)| is_wanted(snapshot, disk));
        // One that cannot be described must not spoil the list.
        Ok(wanted
            .filter_map(|(key, snapshot)| Some((key.clone(), listed(snapshot, home)?)))
            .collect())
    }

    async fn all_snapshots(
        &self,
        op: &Op,
        continued: bool,
    ) -> Result<Sorted<Arc<Snapshot>>, ControllerError> {
        if continued && let Some(list) = self.snapshots.get(&*self.clock) {
            return Ok(list);
        }
        let mut all = Vec::new();
        for scope in self.scopes().await {
            let found = match self.azure.snapshots().list(op, &scope).await {
                Ok(found) => found,
                Err(error) if error.is_group_not_found() => Vec::new(),
                Err(error) => return Err(ControllerError::azure("listing snapshots", error)),
            };
            all.extend(
                found
                    .into_iter()
                    .map(|one| (one.id.folded(), Arc::new(one))),
            );
        }
        Ok(self.snapshots.put(&*self.clock, all))
    }
}

#[cfg(test)]
mod tests {
    use super::{Filter, filter};

    #[test]
    fn what_names_nothing_finds_nothing() {
        let group = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute";
        let (disk, snapshot) = (format!("{group}/disks/d"), format!("{group}/snapshots/n"));
        assert!(matches!(filter("", ""), Filter::All));
        assert!(matches!(filter("", &disk), Filter::Of(_)));
        assert!(matches!(filter(&snapshot, ""), Filter::One(_, None)));
        assert!(matches!(filter(&snapshot, &disk), Filter::One(_, Some(_))));
        for (snapshot, disk) in [
            ("x", ""),
            ("", "x"),
            (snapshot.as_str(), "x"),
            ("x", disk.as_str()),
        ] {
            assert!(matches!(filter(snapshot, disk), Filter::None));
        }
    }
}

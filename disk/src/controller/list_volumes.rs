//! ListVolumes: data disks of the known resource groups, and where they are published.

use std::num::NonZeroUsize;
use std::sync::Arc;

use azcsi_cloud::{Disk, GroupScope};
use azcsi_proto::csi::v1;
use azcsi_rpc::paging::{Sorted, page};
use azcsi_rpc::{Handler, Method, Scope, validate};
use azcsi_types::disk_uri::DiskUri;
use azcsi_types::op::Op;

use super::Controller;
use super::brief::Brief;
use super::error::ControllerError;

/// The RPC.
#[derive(Debug)]
pub struct ListVolumes;

/// Which page is asked for.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The key of the last entry before the page.
    pub after: Option<String>,
    /// Most entries.
    pub most: Option<NonZeroUsize>,
}

/// One page of disks with the names of their nodes.
#[derive(Clone, Debug)]
pub struct Reply {
    volumes: Vec<(Arc<Brief>, Vec<String>)>,
    next: String,
}

impl Handler for ListVolumes {
    type Ctx = Controller;
    type Wire = v1::ListVolumesRequest;
    type WireReply = v1::ListVolumesResponse;
    type Request = PageRequest;
    type Reply = Reply;
    type Error = ControllerError;
    const METHOD: Method = Method::ListVolumes;

    fn decode(_: &Controller, wire: Self::Wire) -> Result<PageRequest, ControllerError> {
        page_request::<DiskUri>(wire.max_entries, wire.starting_token)
    }

    fn scope(_: &PageRequest) -> Scope {
        Scope::Read
    }

    async fn run(
        ctx: Arc<Controller>,
        request: PageRequest,
        op: Op,
    ) -> Result<Reply, ControllerError> {
        let all = ctx.all_disks(&op, request.after.is_some()).await?;
        let page = page(&all, request.after.as_deref(), request.most);
        let mut volumes = Vec::with_capacity(page.items.len());
        for disk in page.items {
            // One machine that cannot be resolved must not hide all volumes; but an empty list
            // would say "published nowhere", so that one volume is left out.
            match super::publish::published(&ctx, &op, &disk.holders).await {
                Ok(nodes) => volumes.push((disk, nodes)),
                Err(error) => tracing::warn!(disk = %disk.id, %error, "left out of the list"),
            }
        }
        Ok(Reply {
            volumes,
            next: page.next,
        })
    }

    fn encode(reply: Reply) -> Self::WireReply {
        let entries = reply
            .volumes
            .into_iter()
            .map(|(disk, nodes)| v1::list_volumes_response::Entry {
                volume: Some(volume(&disk)),
                status: Some(v1::list_volumes_response::VolumeStatus {
                    published_node_ids: nodes,
                }),
            })
            .collect();
        v1::ListVolumesResponse {
            entries,
            next_token: reply.next,
        }
    }
}

/// Reads the fields of a listing. A token is the key of an entry; what cannot be one is refused.
pub(super) fn page_request<K: std::str::FromStr>(
    most: i32,
    token: String,
) -> Result<PageRequest, ControllerError> {
    let most = validate::max_entries(most)?;
    if token.is_empty() {
        return Ok(PageRequest { after: None, most });
    }
    if token.parse::<K>().is_err() || token != token.to_ascii_lowercase() {
        return Err(ControllerError::Token(token.chars().take(80).collect()));
    }
    Ok(PageRequest {
        after: Some(token),
        most,
    })
}

/// A disk as a volume. Its context is not known here, and not asked for by any caller.
pub(super) fn volume(disk: &Brief) -> v1::Volume {
    v1::Volume {
        capacity_bytes: disk.size.bytes().as_i64(),
        volume_id: disk.id.to_string(),
        ..Default::default()
    }
}

impl Controller {
    /// Every data disk in the resource groups that may hold volumes, sorted by id.
    pub(super) async fn all_disks(
        &self,
        op: &Op,
        continued: bool,
    ) -> Result<Sorted<Arc<Brief>>, ControllerError> {
        if continued && let Some(list) = self.disks.get(&*self.clock) {
            return Ok(list);
        }
        let mut all = Vec::new();
        for scope in self.scopes().await {
            let keep = |disk: Disk| {
                let is_data = disk_is_data(&disk);
                is_data.then(|| (disk.id.folded(), Arc::new(Brief::from(disk))))
            };
            match self.azure.disks().list_some(op, &scope, keep).await {
                Ok(found) => all.extend(found),
                Err(error) if error.is_group_not_found() => {}
                Err(error) => return Err(ControllerError::azure("listing disks", error)),
            }
        }
        Ok(self.disks.put(&*self.clock, all))
    }

    /// The cluster's own resource group, and those of known volumes.
    pub(super) async fn scopes(&self) -> Vec<GroupScope> {
        let own = (
            self.settings.subscription.clone(),
            self.settings.resource_group.clone(),
        );
        let mut groups = vec![own];
        for (subscription, group) in self.ports.attachments.groups().await {
            let same = |(s, g): &(String, String)| {
                s.eq_ignore_ascii_case(&subscription) && g.eq_ignore_ascii_case(&group)
            };
            if !groups.iter().any(same) {
                groups.push((subscription, group));
            }
        }
        groups
            .into_iter()
            .map(|(subscription, resource_group)| GroupScope::ResourceGroup {
                subscription,
                resource_group,
            })
            .collect()
    }
}

/// Whether a disk can be a volume: disks made from an image carry an operating system.
fn disk_is_data(disk: &Disk) -> bool {
    !disk
        .properties
        .creation_data
        .create_option
        .eq_ignore_ascii_case("FromImage")
}

#[cfg(test)]
mod tests {
    use super::page_request;
    use azcsi_types::disk_uri::DiskUri;
    use azcsi_types::fault::{Fault, Faulty};

    #[test]
    fn only_keys_of_entries_are_tokens() {
        let key = DiskUri::new("S", "G", "D").unwrap().folded();
        assert_eq!(
            page_request::<DiskUri>(1, key.clone()).unwrap().after,
            Some(key.clone())
        );
        assert!(
            page_request::<DiskUri>(0, String::new())
                .unwrap()
                .after
                .is_none()
        );
        for wrong in [
            "invalid-token".to_owned(),
            "7".to_owned(),
            key.to_uppercase(),
        ] {
            let error = page_request::<DiskUri>(0, wrong).unwrap_err();
            assert_eq!(error.fault(), Fault::InProgress);
        }
        assert_eq!(
            page_request::<DiskUri>(-1, key).unwrap_err().fault(),
            Fault::Invalid
        );
    }
}

//! Expand, modify, validate: of every id that was ever written.

use azcsi_proto::csi::v1;
use azcsi_sim::faults::Effect;
use tonic::Code;
use v1::controller_server::Controller as _;

use super::world::{GIB, Outcome, SHARES, World, filesystem};

const PVC: &str = "pvc-3f0e3b4a-1111-2222-3333-444455556666";

impl World {
    async fn expand(&self, id: &str, gib: i64) -> Outcome<i64> {
        let request = v1::ControllerExpandVolumeRequest {
            volume_id: id.to_owned(),
            capacity_range: Some(v1::CapacityRange {
                required_bytes: gib * GIB,
                limit_bytes: 0,
            }),
            ..Default::default()
        };
        let reply = self
            .controller
            .controller_expand_volume(tonic::Request::new(request))
            .await?;
        let reply = reply.into_inner();
        assert!(!reply.node_expansion_required);
        Ok(reply.capacity_bytes)
    }

    async fn modify(&self, id: &str, entries: &[(&str, &str)]) -> Outcome<()> {
        let pairs = entries.iter();
        let request = v1::ControllerModifyVolumeRequest {
            volume_id: id.to_owned(),
            mutable_parameters: pairs
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            ..Default::default()
        };
        let request = tonic::Request::new(request);
        self.controller
            .controller_modify_volume(request)
            .await
            .map(drop)
    }

    async fn validate(&self, id: &str) -> Outcome<bool> {
        let request = v1::ValidateVolumeCapabilitiesRequest {
            volume_id: id.to_owned(),
            volume_capabilities: vec![filesystem()],
            ..Default::default()
        };
        let request = tonic::Request::new(request);
        let reply = self
            .controller
            .validate_volume_capabilities(request)
            .await?;
        Ok(reply.into_inner().confirmed.is_some())
    }
}

#[tokio::test(start_paused = true)]
async fn every_id_of_a_share_grows_it_sn_17() {
    let world = World::new();
    world.volume(PVC, 5, &[]).await;
    let account = world.accounts().remove(0);
    let shapes = [
        format!("rg#{account}#{PVC}"),
        format!("RG#{account}#{PVC}#pv-1"),
        format!("#{account}#{PVC}#pv-1#ns"),
        format!("rg#{account}#{PVC}#pv-1#ns"),
        format!("rg#{account}#{PVC}###ns"),
        format!("rg#{account}#{PVC}###ns#11111111-2222-3333-4444-555555555555"),
    ];
    for (step, id) in shapes.iter().enumerate() {
        let wanted = 10 + i64::try_from(step).unwrap();
        assert_eq!(
            world.expand(id, wanted).await.unwrap(),
            wanted * GIB,
            "{id}"
        );
    }
    let (size, requests) = world.requests_of(world.expand(&shapes[0], 7)).await;
    assert_eq!(size.unwrap(), 15 * GIB);
    assert_eq!(requests, ["GET storageAccounts/fileServices/shares"]);
    let wrong = world.expand("acct_share", 7).await.unwrap_err();
    assert_eq!(wrong.code(), Code::InvalidArgument);
    assert!(
        wrong
            .message()
            .contains("<resource group>#<account>#<share>")
    );
    let gone = world
        .expand(&format!("rg#{account}#nothere"), 7)
        .await
        .unwrap_err();
    assert_eq!(gone.code(), Code::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_modify_sends_only_what_differs_pr_29() {
    let world = World::new();
    let volume = world
        .volume(PVC, 100, &[("skuName", "PremiumV2_LRS")])
        .await;
    let id = &volume.volume_id;
    let (done, requests) = world.requests_of(world.modify(id, &[])).await;
    done.unwrap();
    // A volume that is gone is not found, also where nothing is to be changed.
    assert_eq!(requests, ["GET storageAccounts/fileServices/shares"]);
    let wish = [("ProvisionedIops", "5000"), ("provisionedBandwidth", "300")];
    world.modify(id, &wish).await.unwrap();
    let (done, requests) = world.requests_of(world.modify(id, &wish)).await;
    done.unwrap();
    assert_eq!(requests, ["GET storageAccounts/fileServices/shares"]);
    let bad = world.modify(id, &[("skuName", "x")]).await.unwrap_err();
    assert_eq!(bad.code(), Code::InvalidArgument);
    let early = world
        .modify(id, &[("provisionedIOPS", "4000")])
        .await
        .unwrap_err();
    assert_eq!(early.code(), Code::Aborted, "{early:?}");
    world.fault(
        "PATCH",
        SHARES,
        50,
        Effect::Throttle {
            retry_after: Some(900),
        },
    );
    let busy = world
        .modify(id, &[("provisionedIOPS", "6000")])
        .await
        .unwrap_err();
    assert_eq!(busy.code(), Code::Unavailable, "{busy:?}");
}

#[tokio::test(start_paused = true)]
async fn only_what_exists_is_confirmed() {
    let world = World::new();
    let volume = world.volume(PVC, 5, &[]).await;
    assert!(world.validate(&volume.volume_id).await.unwrap());
    for id in ["nothing", "rg#noaccount#share###ns"] {
        assert_eq!(
            world.validate(id).await.unwrap_err().code(),
            Code::NotFound,
            "{id}"
        );
    }
}

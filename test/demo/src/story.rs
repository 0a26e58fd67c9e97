//! The story itself: chapter by chapter, every byte checked.

use anyhow::{Result, bail};

use crate::cluster::Cluster;
use crate::data;
use crate::volume::{InUse, Volume, Wish, snapshot_source};
use azcsi_rig::csi::{block, filesystem, shared_block};

const MIB: u64 = 8;

/// Everything, in order.
pub(crate) async fn tell(cluster: &mut Cluster) -> Result<()> {
    let (volume, place, sum) = filesystem_volume(cluster).await?;
    online_expand(cluster, &volume, &place, &sum).await?;
    snapshot_and_restore(cluster, &volume, &place, &sum).await?;
    clone(cluster, &volume, &place).await?;
    let place = power_off(cluster, &volume, place).await?;
    cluster.take_down(&volume, &place).await?;
    cluster.delete(&volume).await?;
    raw_block_volume(cluster).await?;
    shared_disk(cluster).await
}

fn same(cluster: &Cluster, what: &str, expected: &str, found: &str) -> Result<()> {
    if expected != found {
        bail!("{what}: the data differ (expected sha256 {expected}, found {found})");
    }
    cluster
        .say
        .verified(&format!("{what}: sha256 {}… over {MIB} MiB", &found[..16]));
    Ok(())
}

async fn filesystem_volume(cluster: &mut Cluster) -> Result<(Volume, InUse, String)> {
    cluster.say.chapter(
        "A filesystem volume",
        "A disk is created, attached at a LUN, proven blank, formatted with xfs and mounted.",
    );
    let wish = Wish {
        name: "db",
        gib: 1,
        capability: filesystem("xfs"),
        parameters: vec![("skuName", "Premium_LRS")],
        source: None,
    };
    let volume = cluster.create(wish).await?;
    let place = cluster.bring_up(&volume, 0).await?;
    let path = volume.data_path(&place);
    let written = data::write(&path, "first", 0, MIB)?;
    same(
        cluster,
        "read back",
        &written,
        &data::checksum(&path, 0, MIB)?,
    )?;
    Ok((volume, place, written))
}

async fn online_expand(
    cluster: &mut Cluster,
    volume: &Volume,
    place: &InUse,
    sum: &str,
) -> Result<()> {
    cluster.say.chapter(
        "Online expand",
        "The disk and its filesystem grow while they are mounted.",
    );
    let before = size_of(place)?;
    cluster.expand(volume, place, 3).await?;
    let after = size_of(place)?;
    if after <= before {
        bail!("the filesystem did not grow: {before} bytes before, {after} after");
    }
    cluster.say.kernel(&format!(
        "filesystem of {} MiB, before {} MiB",
        after >> 20,
        before >> 20
    ));
    same(
        cluster,
        "after growing",
        sum,
        &data::checksum(&volume.data_path(place), 0, MIB)?,
    )
}

fn size_of(place: &InUse) -> Result<u64> {
    let stat = nix::sys::statvfs::statvfs(&place.target)?;
    Ok(stat.blocks() * stat.fragment_size())
}

async fn snapshot_and_restore(
    cluster: &mut Cluster,
    volume: &Volume,
    place: &InUse,
    sum: &str,
) -> Result<()> {
    cluster.say.chapter(
        "Snapshot and restore",
        "The data change after the snapshot; the restored volume still holds what was there before.",
    );
    let snapshot = cluster.snapshot(volume, "before-change").await?;
    data::write(&volume.data_path(place), "second", 0, MIB)?;
    let wish = Wish {
        name: "restored",
        gib: 3,
        capability: filesystem("xfs"),
        parameters: vec![("skuName", "Premium_LRS")],
        source: Some(snapshot_source(&snapshot)),
    };
    let restored = cluster.create(wish).await?;
    let at = cluster.bring_up(&restored, 0).await?;
    same(
        cluster,
        "restored",
        sum,
        &data::checksum(&restored.data_path(&at), 0, MIB)?,
    )?;
    cluster.take_down(&restored, &at).await?;
    cluster.delete(&restored).await?;
    cluster.delete_snapshot(&snapshot).await
}

async fn clone(cluster: &mut Cluster, volume: &Volume, place: &InUse) -> Result<()> {
    cluster.say.chapter(
        "Clone",
        "A volume is made from another that is in use, and mounted on another node.",
    );
    let expected = data::checksum(&volume.data_path(place), 0, MIB)?;
    let wish = Wish {
        name: "clone",
        gib: 4,
        capability: filesystem("xfs"),
        parameters: vec![("skuName", "Premium_LRS")],
        source: Some(volume.as_source()),
    };
    let copy = cluster.create(wish).await?;
    let at = cluster.bring_up(&copy, 1).await?;
    same(
        cluster,
        "clone",
        &expected,
        &data::checksum(&copy.data_path(&at), 0, MIB)?,
    )?;
    cluster.take_down(&copy, &at).await?;
    cluster.delete(&copy).await
}

async fn power_off(cluster: &mut Cluster, volume: &Volume, place: InUse) -> Result<InUse> {
    cluster.say.chapter(
        "A node loses power",
        "Its plugin dies with it. Kubernetes detaches the volume and starts the pod elsewhere.",
    );
    let expected = data::checksum(&volume.data_path(&place), 0, MIB)?;
    let name = cluster.rig.machines[place.node].name.clone();
    cluster.rig.power_off(place.node).await?;
    cluster.say.note(&format!("{name} is off"));
    cluster.detach(volume, place.node).await?;
    let moved = cluster.bring_up(volume, 2).await?;
    same(
        cluster,
        "on the other node",
        &expected,
        &data::checksum(&volume.data_path(&moved), 0, MIB)?,
    )?;
    cluster.rig.power_on(place.node).await?;
    cluster.say.note(&format!("{name} is back"));
    Ok(moved)
}

async fn raw_block_volume(cluster: &mut Cluster) -> Result<()> {
    cluster.say.chapter(
        "A raw block volume",
        "No filesystem: the pod gets the device itself.",
    );
    let wish = Wish {
        name: "raw",
        gib: 1,
        capability: block(),
        parameters: vec![("skuName", "StandardSSD_LRS")],
        source: None,
    };
    let volume = cluster.create(wish).await?;
    let place = cluster.bring_up(&volume, 1).await?;
    let path = volume.data_path(&place);
    let offset = 512 << 20;
    let written = data::write(&path, "raw", offset, MIB)?;
    cluster.take_down(&volume, &place).await?;
    let place = cluster.bring_up(&volume, 2).await?;
    same(
        cluster,
        "on another node",
        &written,
        &data::checksum(&volume.data_path(&place), offset, MIB)?,
    )?;
    cluster.take_down(&volume, &place).await?;
    cluster.delete(&volume).await
}

async fn shared_disk(cluster: &mut Cluster) -> Result<()> {
    cluster.say.chapter(
        "A shared disk",
        "One raw disk on two nodes at once: one writes, the other reads.",
    );
    let wish = Wish {
        name: "shared",
        gib: 1,
        capability: shared_block(),
        parameters: vec![
            ("skuName", "Premium_LRS"),
            ("maxShares", "2"),
            ("cachingMode", "None"),
        ],
        source: None,
    };
    let volume = cluster.create(wish).await?;
    let first = cluster.bring_up(&volume, 0).await?;
    let written = data::write(&volume.data_path(&first), "shared", 0, MIB)?;
    let second = cluster.bring_up(&volume, 1).await?;
    same(
        cluster,
        "seen by the other",
        &written,
        &data::checksum(&volume.data_path(&second), 0, MIB)?,
    )?;
    // All nodes of the demo share this machine's kernel, and a node puts a disk away only when
    // nothing has it mounted any more. So both pods end first.
    cluster.release(&volume, &first).await?;
    cluster.release(&volume, &second).await?;
    cluster.put_away(&volume, &first).await?;
    cluster.put_away(&volume, &second).await?;
    cluster.delete(&volume).await
}

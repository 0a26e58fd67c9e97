"""Snapshots: full, incremental, over regions, restored, listed, deleted."""

import time

from azure.core.exceptions import ResourceNotFoundError
from azure.mgmt.compute.models import CreationData, Disk, DiskSku, Snapshot, SnapshotUpdate

from . import disks
from .report import equal, holds, refused, same_id

NAMES = ["c-snap-full", "c-snap-inc", "c-snap-inc2", "c-snap-far"]


def run(compute, world, report):
    group, snapshots = world.group, compute.snapshots
    source = disks.make(compute, world, ["c-snap-src"], gib=16)["c-snap-src"]
    with report.check("snapshots: a full one has the size and the identity of its disk"):
        full = take(compute, world, "c-snap-full", source.id, incremental=False)
        equal((full.incremental, full.disk_size_gb, full.provisioning_state), (False, 16, "Succeeded"), "it")
        same_id(full.creation_data.source_resource_id, source.id, "the source")
        equal(full.creation_data.source_unique_id, source.unique_id, "the source's unique id")
        equal(full.completion_percent, 100, "the completion")
    with report.check("snapshots: two incremental ones of a disk are one family"):
        first = take(compute, world, "c-snap-inc", source.id, incremental=True)
        second = take(compute, world, "c-snap-inc2", source.id, incremental=True)
        holds(first.incremental and first.incremental_snapshot_family_id, "it is incremental")
        equal(second.incremental_snapshot_family_id, first.incremental_snapshot_family_id, "the family")
    with report.check("snapshots: taking the same one again changes nothing"):
        again = take(compute, world, "c-snap-inc", source.id, incremental=True)
        equal(again.unique_id, first.unique_id, "the unique id")
    with report.check("snapshots: CopyStart fills one in another region"):
        far_away(compute, world, first)
    with report.check("snapshots: PATCH changes its tags"):
        snapshots.begin_update(group, "c-snap-full", SnapshotUpdate(tags={"kept": "yes"})).result()
        equal(snapshots.get(group, "c-snap-full").tags, {"kept": "yes"}, "the tags")
    with report.check("snapshots: a disk is made from one"):
        origin = CreationData(create_option="Copy", source_resource_id=first.id)
        body = Disk(location=world.location, sku=DiskSku(name="Premium_LRS"), zones=["1"], creation_data=origin)
        restored = compute.disks.begin_create_or_update(group, "c-snap-restored", body).result()
        equal((restored.disk_size_gb, restored.creation_data.source_unique_id), (16, first.unique_id), "it")
    with report.check("snapshots: they are listed by group and by subscription"):
        for found in [snapshots.list_by_resource_group(group), snapshots.list()]:
            holds(set(NAMES) <= {item.name for item in found}, "all are listed")
    with report.check("snapshots: deleted ones are gone, and their disks stay"):
        for poller in [snapshots.begin_delete(group, name) for name in NAMES]:
            poller.result()
        refused(lambda: snapshots.get(group, NAMES[0]), ResourceNotFoundError, 404, "ResourceNotFound", NAMES[0])
        snapshots.begin_delete(group, NAMES[0]).result()
        equal(compute.disks.get(group, "c-snap-restored").provisioning_state, "Succeeded", "the restored disk")
    disks.remove(compute, world, ["c-snap-src", "c-snap-restored"])


def take(compute, world, name, source, incremental):
    origin = CreationData(create_option="Copy", source_resource_id=source)
    body = Snapshot(location=world.location, creation_data=origin, incremental=incremental)
    return compute.snapshots.begin_create_or_update(world.group, name, body).result()


def far_away(compute, world, first):
    origin = CreationData(create_option="CopyStart", source_resource_id=first.id)
    body = Snapshot(location="westus2", creation_data=origin, incremental=True)
    made = compute.snapshots.begin_create_or_update(world.group, "c-snap-far", body).result()
    equal((made.location, made.creation_data.create_option), ("westus2", "CopyStart"), "it")
    # The operation ends early; the copy itself goes on, and only this figure tells of it.
    give_up = time.monotonic() + 60
    while made.completion_percent != 100:
        holds(time.monotonic() < give_up, f"the copy ends; it is at {made.completion_percent} percent")
        time.sleep(0.2)
        made = compute.snapshots.get(world.group, "c-snap-far")

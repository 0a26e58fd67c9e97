"""The life of a disk: made, copied, grown, changed, read through a SAS, listed, deleted."""

from azure.core.exceptions import ResourceNotFoundError
from azure.mgmt.compute.models import CreationData, Disk, DiskSku, DiskUpdate, GrantAccessData

from .report import equal, holds, refused, same_id


def empty(world, gib=4, sku="Premium_LRS", zone="1", **more):
    """The model of a disk with nothing on it."""
    return Disk(
        location=world.location,
        sku=DiskSku(name=sku),
        zones=[zone] if zone else None,
        creation_data=CreationData(create_option="Empty"),
        disk_size_gb=gib,
        **more,
    )


def make(compute, world, names, **more):
    """Makes several disks at once and gives them by name."""
    pollers = {name: compute.disks.begin_create_or_update(world.group, name, empty(world, **more)) for name in names}
    return {name: poller.result() for name, poller in pollers.items()}


def remove(compute, world, names):
    """Deletes several disks at once."""
    for poller in [compute.disks.begin_delete(world.group, name) for name in names]:
        poller.result()


def life(compute, world, report):
    group, disks = world.group, compute.disks
    with report.check("disks: an empty one is made, with the defaults of Azure"):
        made = disks.begin_create_or_update(group, "c-disk", empty(world, tags={"a": "1"})).result()
        same_id(made.id, world.id("disks", "c-disk"), "the id")
        equal(made.type, "Microsoft.Compute/disks", "the type")
        equal((made.sku.name, made.sku.tier), ("Premium_LRS", "Premium"), "the SKU")
        equal((made.disk_size_gb, made.disk_size_bytes), (4, 4 << 30), "the size")
        equal((made.tier, made.disk_iops_read_write, made.disk_m_bps_read_write), ("P1", 120, 25), "the tier")
        equal((made.disk_state, made.provisioning_state), ("Unattached", "Succeeded"), "the state")
        equal((made.zones, made.tags, made.managed_by), (["1"], {"a": "1"}, None), "zones, tags and owner")
        equal(made.network_access_policy, "AllowAll", "the access policy")
        equal(made.encryption.type, "EncryptionAtRestWithPlatformKey", "the encryption")
        holds(made.unique_id and made.time_created, "it has a unique id and a time")
    with report.check("disks: making the same one again changes nothing"):
        again = disks.begin_create_or_update(group, "c-disk", empty(world, tags={"a": "1"})).result()
        equal(again.unique_id, made.unique_id, "the unique id")
    with report.check("disks: a copy has a data source and its own size"):
        source = CreationData(create_option="Copy", source_resource_id=made.id)
        body = Disk(location=world.location, sku=DiskSku(name="StandardSSD_LRS"), zones=["1"], creation_data=source)
        copy = disks.begin_create_or_update(group, "c-copy", body).result()
        equal(copy.disk_size_gb, 4, "the size")
        same_id(copy.creation_data.source_resource_id, made.id, "the source")
        equal(copy.creation_data.source_unique_id, made.unique_id, "the source's unique id")
    with report.check("disks: PATCH grows it and moves it to the tier of its size"):
        grown = disks.begin_update(group, "c-disk", DiskUpdate(disk_size_gb=128)).result()
        equal((grown.disk_size_gb, grown.tier, grown.disk_iops_read_write), (128, "P10", 500), "size and tier")
    with report.check("disks: PATCH changes SKU and tags, and leaves the rest"):
        body = DiskUpdate(sku=DiskSku(name="StandardSSD_LRS"), tags={"b": "2"})
        changed = disks.begin_update(group, "c-disk", body).result()
        equal((changed.sku.name, changed.tags, changed.disk_size_gb), ("StandardSSD_LRS", {"b": "2"}, 128), "the disk")
        read = disks.get(group, "C-DISK")
        equal((read.sku.name, read.tags, read.unique_id), (changed.sku.name, changed.tags, made.unique_id), "GET")
    remove(compute, world, ["c-copy"])
    access(compute, world, report)
    with report.check("disks: a deleted one is gone, and deleting it again is no error"):
        disks.begin_delete(group, "c-disk").result()
        refused(lambda: disks.get(group, "c-disk"), ResourceNotFoundError, 404, "ResourceNotFound", "c-disk")
        disks.begin_delete(group, "c-disk").result()


def access(compute, world, report):
    group, disks = world.group, compute.disks
    with report.check("disks: a SAS is granted, holds the disk, and is taken back"):
        grant = GrantAccessData(access="Read", duration_in_seconds=3600)
        uri = disks.begin_grant_access(group, "c-disk", grant).result()
        holds(uri.access_sas.startswith("https://") and "sig=" in uri.access_sas, f"{uri.access_sas!r} is a SAS")
        equal(disks.get(group, "c-disk").disk_state, "ActiveSAS", "the state")
        disks.begin_revoke_access(group, "c-disk").result()
        equal(disks.get(group, "c-disk").disk_state, "Unattached", "the state after it")


def lists(compute, world, report):
    """Over a page boundary when the simulator's pages are that small; by group and subscription."""
    names = [f"c-list-{i:02}" for i in range(60)]
    with report.check("disks: sixty are made at once"):
        made = make(compute, world, names)
        equal(len({disk.unique_id for disk in made.values()}), len(names), "the number of unique ids")
    for what, call in [
        ("group", lambda: compute.disks.list_by_resource_group(world.group)),
        ("subscription", compute.disks.list),
    ]:
        with report.check(f"disks: the list by {what} has every one once, over pages"):
            pages = [list(page) for page in call().by_page()]
            found = [disk.name for page in pages for disk in page]
            holds(set(names) <= set(found), "all are listed")
            equal(len(found), len(set(found)), "the number of names")
            holds(len(pages) > 1, f"{len(found)} disks come on more than one page")
    with report.check("disks: sixty are deleted at once"):
        remove(compute, world, names)
        left = [disk.name for disk in compute.disks.list() if disk.name in names]
        equal(left, [], "what is left")

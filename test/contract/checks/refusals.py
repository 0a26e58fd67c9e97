"""What Azure refuses, and as which exception the client shows it."""

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.mgmt.compute.models import CreationData, Disk, DiskSku, DiskUpdate, GrantAccessData

from . import disks
from .machines import Single, action, entry, luns
from .report import equal, holds, refused

GATEWAY = "x-ms-failure-cause"


def run(compute, world, report):
    absent(compute, world, report)
    solo = Single(compute, world, "standalone", "solo-0")
    small = Single(compute, world, "avset", "avs-0")
    zoned = [f"c-no-{i}" for i in range(2)]
    made = disks.make(compute, world, zoned)
    one, two = (made[name] for name in zoned)
    attached(compute, world, report, solo, one, two)
    placement(compute, world, report, solo)
    full(compute, world, report, small)
    values(compute, world, report)
    disks.remove(compute, world, zoned)


def absent(compute, world, report):
    group = world.group
    cases = [
        ("disk", lambda: compute.disks.get(group, "c-none"), "ResourceNotFound", "c-none"),
        ("snapshot", lambda: compute.snapshots.get(group, "c-none"), "ResourceNotFound", "c-none"),
        ("machine", lambda: compute.virtual_machines.get(group, "c-none"), "ResourceNotFound", "c-none"),
        ("group", lambda: compute.disks.get("c-nogroup", "x"), "ResourceGroupNotFound", "c-nogroup"),
        (
            "disk to PATCH",
            lambda: compute.disks.begin_update(group, "c-none", DiskUpdate(tags={})).result(),
            "ResourceNotFound",
            "c-none",
        ),
    ]
    for what, call, code, text in cases:
        with report.check(f"refusals: a {what} that is not there is {code}, said by the gateway"):
            error = refused(call, ResourceNotFoundError, 404, code, text)
            equal(error.response.headers.get(GATEWAY), "gateway", GATEWAY)
    with report.check("refusals: an instance of a scale set that is not there is ParentResourceNotFound"):
        call = lambda: compute.virtual_machine_scale_set_vms.get(group, "c-noset", "0")
        refused(call, ResourceNotFoundError, 404, "ParentResourceNotFound", "c-noset")
    with report.check("refusals: an instance id that is no number is a wrong parameter"):
        call = lambda: compute.virtual_machine_scale_set_vms.get(group, "uni", "seven")
        error = refused(call, HttpResponseError, 400, "InvalidParameter", "must be a number")
        equal(error.error.target, "instanceId", "the target")


def attached(compute, world, report, solo, one, two):
    group = world.group
    solo.all.begin_attach_detach_data_disks(*solo.at, action(attach=[(one, 0)])).result()
    with report.check("refusals: an attached disk is not deleted, and stays"):
        call = lambda: compute.disks.begin_delete(group, one.name).result()
        refused(call, ResourceExistsError, 409, "OperationNotAllowed", "is attached to VM")
        equal(compute.disks.get(group, one.name).disk_state, "Attached", "the state")
    with report.check("refusals: a LUN is not given twice"):
        call = lambda: solo.change([entry(0, one), entry(0, two)]).result()
        refused(call, HttpResponseError, 400, "InvalidParameter", "A disk at LUN 0 already exists.")
    with report.check("refusals: another disk does not take the place of an attached one"):
        call = lambda: solo.change([entry(0, two)]).result()
        refused(call, ResourceExistsError, 409, "PropertyChangeNotAllowed", "dataDisk.managedDisk.id")
    with report.check("refusals: a disk is not attached to two machines"):
        other = Single(compute, world, "flex", "flex_00000000")
        call = lambda: other.all.begin_attach_detach_data_disks(*other.at, action(attach=[(one, 1)])).result()
        refused(call, HttpResponseError, 409, "ConflictingUserInput", solo.name)
        equal(luns(other.get().storage_profile), [], "the other machine's disks")
    with report.check("refusals: no SAS for a disk that a running machine has"):
        grant = GrantAccessData(access="Read", duration_in_seconds=60)
        call = lambda: compute.disks.begin_grant_access(group, one.name, grant).result()
        refused(call, ResourceExistsError, 409, "Conflict", "currently attached to running VM")
    with report.check("refusals: a disk that is not there is not attached, and nothing else changes"):
        gone = Disk(location=world.location)
        gone.id = world.id("disks", "c-none")
        call = lambda: solo.all.begin_attach_detach_data_disks(*solo.at, action(attach=[(gone, 5)])).result()
        refused(call, ResourceNotFoundError, 404, "NotFound", "c-none")
        equal(luns(solo.get().storage_profile), [(0, one.name)], "the list")
    solo.all.begin_attach_detach_data_disks(*solo.at, action(detach=[one])).result()


def placement(compute, world, report, solo):
    with report.check("refusals: a disk of another zone is not attached"):
        far = disks.make(compute, world, ["c-zone2"], zone="2")["c-zone2"]
        call = lambda: solo.all.begin_attach_detach_data_disks(*solo.at, action(attach=[(far, 1)])).result()
        refused(call, HttpResponseError, 400, "BadRequest", "zone")
        disks.remove(compute, world, ["c-zone2"])


def full(compute, world, report, small):
    names = [f"c-full-{i}" for i in range(5)]
    made = disks.make(compute, world, names, zone=None)
    with report.check("refusals: a machine takes no more disks than its size has room for"):
        write = lambda: small.change([entry(i, made[name]) for i, name in enumerate(names)]).result()
        error = refused(write, ResourceExistsError, 409, "OperationNotAllowed", "a VM of this size is 4.")
        equal(error.error.target, "dataDisks", "the target")
        pairs = [(made[name], i) for i, name in enumerate(names)]
        write = lambda: small.all.begin_attach_detach_data_disks(*small.at, action(attach=pairs)).result()
        refused(write, ResourceExistsError, 409, "OperationNotAllowed", "a VM of this size is 4.")
        equal(luns(small.get().storage_profile), [], "the list")
    disks.remove(compute, world, names)


def values(compute, world, report):
    group = world.group
    big = disks.make(compute, world, ["c-big"], gib=32)["c-big"]
    with report.check("refusals: a disk does not shrink"):
        call = lambda: compute.disks.begin_update(group, big.name, DiskUpdate(disk_size_gb=16)).result()
        error = caught(call)
        holds(error.status_code in (400, 409), f"{error.status_code} is a refusal")
        equal(compute.disks.get(group, big.name).disk_size_gb, 32, "the size")
    disks.remove(compute, world, ["c-big"])
    with report.check("refusals: a size beyond the SKU's range is a wrong parameter"):
        body = disks.empty(world, gib=40000)
        call = lambda: compute.disks.begin_create_or_update(group, "c-huge", body).result()
        refused(call, HttpResponseError, 400, "InvalidParameter", "40000")
    with report.check("refusals: a copy of a disk that is not there is not made"):
        origin = CreationData(create_option="Copy", source_resource_id=world.id("disks", "c-none"))
        body = Disk(location=world.location, sku=DiskSku(name="Premium_LRS"), zones=["1"], creation_data=origin)
        error = caught(lambda: compute.disks.begin_create_or_update(group, "c-orphan", body).result())
        holds(error.status_code in (400, 404), f"{error.status_code} {error} is a refusal")
        refused(lambda: compute.disks.get(group, "c-orphan"), ResourceNotFoundError, 404, "ResourceNotFound")
    with report.check("refusals: an API version that does not exist is said to be none"):
        call = lambda: compute.disks.get(group, "x", api_version="1999-01-01")
        error = caught(call)
        equal(error.status_code, 400, "the status")
        holds(error.error.code in ("InvalidResourceType", "NoRegisteredProviderFound"), f"the code {error.error.code}")


def caught(call):
    try:
        call()
    except HttpResponseError as error:
        return error
    raise AssertionError("it was not refused")

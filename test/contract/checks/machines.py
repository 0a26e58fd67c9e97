"""Machines of all four kinds, and what all of them can do with data disks."""

from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError
from azure.mgmt.compute.models import (
    AttachDetachDataDisksRequest,
    DataDisk,
    DataDisksToAttach,
    DataDisksToDetach,
    ManagedDiskParameters,
    StorageProfile,
    VirtualMachine,
    VirtualMachineScaleSetVM,
    VirtualMachineUpdate,
)

from . import disks
from .report import equal, holds, refused, same_id

# The pools of the world that run.sh makes: what a machine is called and where it is.
ZONED = {"standalone": "1", "flex": "1", "uniform": "1", "avset": None}


class Single:
    """A virtual machine with a resource of its own: alone, in an availability set, or Flex."""

    def __init__(self, compute, world, kind, name):
        self.kind, self.name, self.zone = kind, name, ZONED[kind]
        self.world, self.all, self.compute = world, compute.virtual_machines, compute
        self.at = (world.group, name)
        self.id = world.id("virtualMachines", name)

    def get(self):
        return self.all.get(*self.at, expand="instanceView")

    def view(self):
        return self.all.instance_view(*self.at)

    def put(self, data_disks, **match):
        body = VirtualMachine(location=self.world.location, storage_profile=StorageProfile(data_disks=data_disks))
        return self.all.begin_create_or_update(*self.at, body, **match)

    def change(self, data_disks, **match):
        """PATCH."""
        body = VirtualMachineUpdate(storage_profile=StorageProfile(data_disks=data_disks))
        return self.all.begin_update(*self.at, body, **match)


class Instance:
    """An instance of a uniform scale set: same life, other paths, and no PATCH."""

    def __init__(self, compute, world, scale_set, number):
        self.kind, self.name, self.zone = "uniform", f"{scale_set}_{number}", ZONED["uniform"]
        self.world, self.all, self.compute = world, compute.virtual_machine_scale_set_vms, compute
        self.at = (world.group, scale_set, number)
        self.id = world.id("virtualMachineScaleSets", f"{scale_set}/virtualMachines/{number}")

    def get(self):
        return self.all.get(*self.at, expand="instanceView")

    def view(self):
        return self.all.get_instance_view(*self.at)

    def put(self, data_disks, **match):
        body = VirtualMachineScaleSetVM(
            location=self.world.location, storage_profile=StorageProfile(data_disks=data_disks)
        )
        return self.all.begin_update(*self.at, body, **match)

    change = put


def four(compute, world):
    """One machine of each kind."""
    return [
        Single(compute, world, "standalone", "solo-0"),
        Single(compute, world, "avset", "avs-0"),
        Single(compute, world, "flex", "flex_00000000"),
        Instance(compute, world, "uni", "0"),
    ]


def entry(lun, disk, **more):
    """A data disk of a model."""
    return DataDisk(lun=lun, create_option="Attach", managed_disk=ManagedDiskParameters(id=disk.id), **more)


def action(attach=(), detach=(), **more):
    """The body of attachDetachDataDisks; `attach` is (disk, lun) pairs."""
    return AttachDetachDataDisksRequest(
        data_disks_to_attach=[DataDisksToAttach(disk_id=disk.id, lun=lun, **more) for disk, lun in attach],
        data_disks_to_detach=[DataDisksToDetach(disk_id=disk.id) for disk in detach],
    )


def luns(profile):
    """LUN and disk name of each data disk."""
    return sorted((disk.lun, disk.managed_disk.id.rsplit("/", 1)[-1].lower()) for disk in profile.data_disks or [])


def power(view):
    return [status.code for status in view.statuses if status.code.startswith("PowerState/")]


def life(machine, report):
    """Everything with data disks, on one machine."""
    compute, world, kind = machine.compute, machine.world, machine.kind
    names = [f"c-{kind}-{i}" for i in range(2)]
    made = disks.make(compute, world, names, zone=machine.zone)
    a, b = (made[name] for name in names)

    def state(disk):
        return compute.disks.get(world.group, disk.name)

    with report.check(f"{kind}: GET has identity, size, power state and an empty list"):
        looks(machine)
    with report.check(f"{kind}: the action attaches a disk and gives its LUN"):
        profile = machine.all.begin_attach_detach_data_disks(*machine.at, action(attach=[(a, 3)])).result()
        equal(luns(profile), [(3, names[0])], "what the action gives")
        equal(luns(machine.get().storage_profile), [(3, names[0])], "what GET gives")
        same_id(state(a).managed_by, machine.id, "the owner")
        equal(state(a).disk_state, "Attached", "the state of the disk")
    with report.check(f"{kind}: PUT of the list with the right ETag attaches a second one"):
        now = machine.get()
        holds(now.etag and now.etag.startswith('"'), f"{now.etag!r} is an ETag")
        wanted = list(now.storage_profile.data_disks) + [entry(0, b, caching="ReadOnly")]
        machine.put(wanted, etag=now.etag, match_condition=MatchConditions.IfNotModified).result()
        after = machine.get()
        equal(luns(after.storage_profile), [(0, names[1]), (3, names[0])], "the list")
        equal([d.caching for d in after.storage_profile.data_disks if d.lun == 0], ["ReadOnly"], "the caching")
        holds(after.etag != now.etag, "the ETag has changed")
    with report.check(f"{kind}: a write with a stale ETag is refused with 412"):
        stale = {"etag": '"0"', "match_condition": MatchConditions.IfNotModified}
        write = lambda: machine.change([], **stale).result()
        refused(write, ResourceModifiedError, 412, "PreconditionFailed", "etag")
        equal(len(machine.get().storage_profile.data_disks), 2, "the number of disks left")
    with report.check(f"{kind}: an update of the list with toBeDetached detaches that disk only"):
        now = machine.get().storage_profile.data_disks
        for disk in now:
            disk.to_be_detached = disk.lun == 0
        machine.change(now).result()
        equal(luns(machine.get().storage_profile), [(3, names[0])], "the list")
        equal((state(b).managed_by, state(b).disk_state), (None, "Unattached"), "the disk")
    with report.check(f"{kind}: the action swaps disks in one go, and picks a free LUN by itself"):
        swap = action(attach=[(b, None)], detach=[a])
        profile = machine.all.begin_attach_detach_data_disks(*machine.at, swap).result()
        equal([name for _, name in luns(profile)], [names[1]], "what is attached")
        equal(state(a).disk_state, "Unattached", "the state of the other one")
    powers(machine, report, lambda: state(b).disk_state)
    with report.check(f"{kind}: an update with an empty list detaches everything"):
        machine.change([]).result()
        equal(luns(machine.get().storage_profile), [], "the list")
        disks.remove(compute, world, names)


def looks(machine):
    """What the drivers read of a machine."""
    found, kind = machine.get(), machine.kind
    same_id(found.id, machine.id, "the id")
    equal((found.name, found.location), (machine.name, machine.world.location), "name and location")
    equal(found.zones, [machine.zone] if machine.zone else None, "the zones")
    equal(found.provisioning_state, "Succeeded", "the provisioning state")
    holds(found.vm_id and found.os_profile.computer_name, "it has a unique id and a host name")
    equal(luns(found.storage_profile), [], "the data disks")
    equal(found.storage_profile.os_disk.os_type, "Linux", "the OS")
    equal(power(found.instance_view), ["PowerState/running"], "the power state")
    equal(power(machine.view()), ["PowerState/running"], "the power state of the instance view alone")
    if kind == "uniform":
        equal((found.instance_id, found.sku.name), (machine.at[2], "Standard_D4s_v5"), "instance and size")
        return
    equal(found.hardware_profile.vm_size, "Standard_D2s_v5" if kind == "avset" else "Standard_D4s_v5", "the size")
    equal(found.availability_set is not None, kind == "avset", "whether it is in an availability set")
    equal(found.virtual_machine_scale_set is not None, kind == "flex", "whether it is in a scale set")


def powers(machine, report, disk_state):
    """Power off, deallocate and start, and what each means for an attached disk."""
    for verb, code, wanted in [
        ("begin_power_off", "PowerState/stopped", "Attached"),
        ("begin_deallocate", "PowerState/deallocated", "Reserved"),
        ("begin_start", "PowerState/running", "Attached"),
    ]:
        with report.check(f"{machine.kind}: after {verb[6:]} it is {code.split('/')[1]} and its disk {wanted}"):
            getattr(machine.all, verb)(*machine.at).result()
            equal(power(machine.view()), [code], "the power state")
            equal(disk_state(), wanted, "the state of the disk")


def lists(compute, world, report):
    """Every list that holds machines."""
    singles = {"solo-0", "avs-0", "flex_00000000"}
    for what, call in [
        ("group", lambda: compute.virtual_machines.list(world.group)),
        ("subscription", compute.virtual_machines.list_all),
        ("location", lambda: compute.virtual_machines.list_by_location(world.location)),
    ]:
        with report.check(f"machines: the list by {what} has the single ones and no scale set instance"):
            names = {machine.name for machine in call()}
            holds(singles <= names, f"all are in {sorted(names)}")
            holds(not any(name.startswith("uni") for name in names), "no instance is among them")
    with report.check("machines: the filter by scale set finds its Flex machines, with instance views"):
        flex = world.id("virtualMachineScaleSets", "flex")
        found = list(
            compute.virtual_machines.list(
                world.group, filter=f"'virtualMachineScaleSet/id' eq '{flex}'", expand="instanceView"
            )
        )
        equal({machine.name for machine in found}, {"flex_00000000", "flex_00000001"}, "the machines")
        equal([power(machine.instance_view) for machine in found], [["PowerState/running"]] * 2, "their power")
    with report.check("scale sets: they are listed and read, each with its orchestration mode"):
        modes = {item.name: item.orchestration_mode for item in compute.virtual_machine_scale_sets.list(world.group)}
        equal(modes, {"uni": "Uniform", "flex": "Flexible"}, "the scale sets")
        equal({item.name for item in compute.virtual_machine_scale_sets.list_all()}, set(modes), "all of them")
        uni = compute.virtual_machine_scale_sets.get(world.group, "uni")
        equal((uni.sku.name, uni.sku.capacity), ("Standard_D4s_v5", 2), "size and capacity")
    with report.check("scale sets: a uniform one's instances are listed with instance views"):
        found = list(compute.virtual_machine_scale_set_vms.list(world.group, "uni", expand="instanceView"))
        equal([item.instance_id for item in found], ["0", "1"], "the instances")
        equal([item.os_profile.computer_name for item in found], ["uni000000", "uni000001"], "the host names")
        equal([power(item.instance_view) for item in found], [["PowerState/running"]] * 2, "their power")

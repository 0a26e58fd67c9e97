"""A machine that the client makes itself, a disk that two machines share, and disks whose
performance is set."""

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.mgmt.compute.models import (
    DiskUpdate,
    HardwareProfile,
    ImageReference,
    NetworkInterfaceReference,
    NetworkProfile,
    OSDisk,
    OSProfile,
    StorageProfile,
    VirtualMachine,
)

from . import disks
from .machines import Single, action, luns, power
from .report import equal, holds, refused, same_id

NAME = "c-new"


def run(compute, world, report):
    machine(compute, world, report)
    shared(compute, world, report)
    performance(compute, world, report)


def machine(compute, world, report):
    new = Single(compute, world, "standalone", NAME)
    disk = disks.make(compute, world, ["c-stays"])["c-stays"]
    with report.check("newcomers: a machine is made, and runs"):
        body = VirtualMachine(
            location=world.location,
            zones=["1"],
            hardware_profile=HardwareProfile(vm_size="Standard_D4s_v5"),
            os_profile=OSProfile(computer_name=NAME, admin_username="azureuser"),
            storage_profile=StorageProfile(
                image_reference=ImageReference(publisher="p", offer="o", sku="s", version="latest"),
                os_disk=OSDisk(create_option="FromImage", name=f"{NAME}-os"),
            ),
            network_profile=NetworkProfile(network_interfaces=[NetworkInterfaceReference(id=f"{new.id}/nic")]),
        )
        made = compute.virtual_machines.begin_create_or_update(world.group, NAME, body).result()
        equal((made.name, made.provisioning_state, made.zones), (NAME, "Succeeded", ["1"]), "the machine")
        equal(power(new.view()), ["PowerState/running"], "the power state")
    with report.check("newcomers: a machine that is deleted sets its data disk free"):
        new.all.begin_attach_detach_data_disks(*new.at, action(attach=[(disk, 0)])).result()
        compute.virtual_machines.begin_delete(world.group, NAME).result()
        refused(new.get, ResourceNotFoundError, 404, "ResourceNotFound", NAME)
        free = compute.disks.get(world.group, disk.name)
        equal((free.disk_state, free.managed_by), ("Unattached", None), "the disk")
    disks.remove(compute, world, [disk.name])


def shared(compute, world, report):
    disk = disks.make(compute, world, ["c-shared"], gib=256, max_shares=2)["c-shared"]
    owners = [Single(compute, world, "flex", f"flex_0000000{i}") for i in range(2)]
    third = Single(compute, world, "standalone", "solo-0")
    with report.check("newcomers: a shared disk is attached to two machines, and names both"):
        for owner in owners:
            owner.all.begin_attach_detach_data_disks(*owner.at, action(attach=[(disk, 0)], caching="None")).result()
        found = compute.disks.get(world.group, disk.name)
        wanted = sorted(owner.id.lower() for owner in owners)
        equal(sorted(owner.lower() for owner in found.managed_by_extended), wanted, "the owners")
        equal(sorted(share.vm_uri.lower() for share in found.share_info), wanted, "the shares")
    with report.check("newcomers: a third machine does not get it"):
        more = action(attach=[(disk, 0)], caching="None")
        call = third.all.begin_attach_detach_data_disks
        refused(lambda: call(*third.at, more).result(), HttpResponseError, 409, "ConflictingUserInput")
    for owner in owners:
        owner.all.begin_attach_detach_data_disks(*owner.at, action(detach=[disk])).result()
        equal(luns(owner.get().storage_profile), [], "the disks")
    disks.remove(compute, world, [disk.name])


def performance(compute, world, report):
    with report.check("newcomers: a Premium v2 disk has the performance that it was made with, and then another"):
        more = {"disk_iops_read_write": 4000, "disk_m_bps_read_write": 150}
        disk = disks.make(compute, world, ["c-v2"], gib=16, sku="PremiumV2_LRS", **more)["c-v2"]
        equal((disk.disk_iops_read_write, disk.disk_m_bps_read_write), (4000, 150), "its performance")
        holds(disk.tier is None, "it has no tier")
        faster = DiskUpdate(disk_iops_read_write=5000)
        disk = compute.disks.begin_update(world.group, "c-v2", faster).result()
        equal((disk.disk_iops_read_write, disk.disk_m_bps_read_write), (5000, 150), "its performance")
        same_id(disk.id, world.id("disks", "c-v2"), "the id")
    disks.remove(compute, world, ["c-v2"])

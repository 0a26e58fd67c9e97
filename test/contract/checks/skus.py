"""Resource SKUs: the source of how many disks a machine takes."""

from .report import equal, holds


def run(compute, world, report):
    with report.check("skus: sizes and disks of a region, with the capabilities that the drivers read"):
        found = list(compute.resource_skus.list(filter=f"location eq '{world.location}'"))
        size = one(found, "virtualMachines", "Standard_D4s_v5")
        told = {capability.name: capability.value for capability in size.capabilities}
        equal((told["MaxDataDiskCount"], told["PremiumIO"]), ("8", "True"), "what D4s_v5 can do")
        holds("SCSI" in told["DiskControllerTypes"], "it has SCSI disks")
        equal(sorted(size.location_info[0].zones), ["1", "2", "3"], "its zones")
        holds(one(found, "disks", "Premium_LRS").capabilities, "a disk SKU has capabilities")
        elsewhere = [sku.name for sku in found if world.location not in [place.lower() for place in sku.locations]]
        equal(elsewhere, [], "the SKUs of other regions")


def one(found, kind, name):
    matching = [sku for sku in found if (sku.resource_type, sku.name) == (kind, name)]
    holds(matching, f"there is {kind} {name}")
    return matching[0]

"""The life of a file share on the management plane: made, grown, snapshotted, deleted, restored."""

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.mgmt.storage.models import DeletedShare, DeleteRetentionPolicy, FileServiceProperties, FileShare

from . import accounts
from .report import equal, holds, refused


def life(storage, world, report):
    group, shares, name = world.group, storage.file_shares, "cshares"
    with report.check("shares: the file service keeps deleted shares for seven days at first"):
        accounts.make(storage, world, name)
        service = storage.file_services.get_service_properties(group, name)
        equal((service.share_delete_retention_policy.enabled, service.share_delete_retention_policy.days), (True, 7), "the policy")
        longer = FileServiceProperties(share_delete_retention_policy=DeleteRetentionPolicy(enabled=True, days=14))
        storage.file_services.set_service_properties(group, name, longer)
        service = storage.file_services.get_service_properties(group, name)
        equal(service.share_delete_retention_policy.days, 14, "the days")
    with report.check("shares: made, shown, grown"):
        shares.create(group, name, "pvc-1", FileShare(share_quota=5, metadata={"createdBy": "contract"}))
        found = shares.get(group, name, "pvc-1")
        equal((found.share_quota, found.access_tier, found.enabled_protocols), (5, "TransactionOptimized", "SMB"), "what was made")
        equal(found.metadata, {"createdBy": "contract"}, "the metadata")
        equal(shares.get(group, name, "pvc-1", expand="stats").share_usage_bytes, 0, "the use")
        equal(shares.update(group, name, "pvc-1", FileShare(share_quota=9)).share_quota, 9, "the new quota")
    with report.check("shares: a snapshot has a time, and a share with one is not deleted without it"):
        taken = shares.create(group, name, "pvc-1", FileShare(metadata={"initiator": "s1"}), expand="snapshots")
        holds(taken.snapshot_time, "it has a time")
        listed = [found for found in shares.list(group, name, expand="snapshots") if found.snapshot_time]
        equal(len(listed), 1, "the number of snapshots")
        refused(lambda: shares.delete(group, name, "pvc-1", include="none"), ResourceExistsError, 409, "ShareHasSnapshots")
    with report.check("shares: deleted, listed as deleted, restored"):
        shares.delete(group, name, "pvc-1", include="snapshots")
        refused(lambda: shares.get(group, name, "pvc-1"), ResourceNotFoundError, 404, "ShareNotFound")
        gone = [found for found in shares.list(group, name, expand="deleted") if found.deleted]
        equal([found.name for found in gone], ["pvc-1"], "the deleted shares")
        wanted = DeletedShare(deleted_share_name="pvc-1", deleted_share_version=gone[0].version)
        shares.restore(group, name, "pvc-1", wanted)
        equal(shares.get(group, name, "pvc-1").share_quota, 9, "the quota after the restore")
    with report.check("shares: NFS and provisioned v2 in accounts that have them"):
        accounts.make(storage, world, "cfastfiles", sku="PremiumV2_LRS", kind="FileStorage", enable_https_traffic_only=False)
        shares.create(group, "cfastfiles", "nfs-1", FileShare(share_quota=64, enabled_protocols="NFS"))
        found = shares.get(group, "cfastfiles", "nfs-1")
        equal((found.root_squash, found.provisioned_iops, found.provisioned_bandwidth_mibps), ("NoRootSquash", 3064, 132), "its figures")
        used = storage.file_services.get_service_usage(group, "cfastfiles")
        equal(used.properties.storage_account_usage.live_shares.file_share_count, 1, "the shares in use")
        small = FileShare(share_quota=31)
        refused(lambda: shares.create(group, "cfastfiles", "small", small), HttpResponseError, 400, "FileShareProvisionedStorageInvalid")

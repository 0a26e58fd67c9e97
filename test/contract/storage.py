"""Official storage and network clients for Python against a running azcsi-sim: `run.sh` starts both.

Nothing of the clients is patched: they get the endpoint, the authority and the certificate. Account
URLs have the account in the path, because that needs no name resolution.
"""

import argparse
import logging
import sys

from azure.mgmt.network import NetworkManagementClient
from azure.mgmt.storage import StorageManagementClient

from checks import accounts, clients, files, networks, shares
from checks.record import Recorder
from checks.report import Report
from checks.world import World
from compute import clean


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoints", required=True, help="the file that `azcsi-sim serve` wrote")
    parser.add_argument("--record", help="file that gets every exchange as one JSON line")
    parser.add_argument("--profile", required=True, choices=["instant", "azure"])
    return parser.parse_args()


def client(kind, world, credential, recorder):
    """A management client of this kind."""
    more = {"per_retry_policies": [recorder]} if recorder else {}
    settings = {
        "base_url": world.arm,
        "credential_scopes": [clients.scope(world)],
        "polling_interval": clients.POLL,
    }
    return kind(credential, world.subscription, **settings, **more)


def main():
    args = arguments()
    logging.getLogger("azure").setLevel(logging.CRITICAL)
    world, report = World.load(args.endpoints), Report(f"storage-{args.profile}")
    recorder = Recorder(args.record) if args.record else None
    credential = clients.secret(world)
    storage = client(StorageManagementClient, world, credential, recorder)
    network = client(NetworkManagementClient, world, credential, recorder)
    report.section("accounts", accounts.life, storage, world, report)
    report.section("shares", shares.life, storage, world, report)
    if args.profile == "instant":
        report.section("files", files.life, storage, world, report)
        report.section("SAS", files.signatures, storage, world, report)
        report.section("networks", networks.life, storage, network, world, report)
        report.section("private endpoints", networks.private, storage, network, world, report)
    clean(world, report)
    print(f"{report.label}: {report.passed} passed, {report.failed} failed")
    return 1 if report.failed or not report.passed else 0


if __name__ == "__main__":
    sys.exit(main())

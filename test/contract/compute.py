"""Official Azure clients for Python against a running azcsi-sim: `run.sh` starts both.

Nothing of the clients is patched: they get the endpoint, the authority and the certificate.
"""

import argparse
import logging
import sys
from concurrent.futures import ThreadPoolExecutor

from checks import clients, disks, machines, newcomers, refusals, skus, snapshots, tokens, trouble
from checks.record import Recorder
from checks.report import Report
from checks.world import World


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoints", required=True, help="the file that `azcsi-sim serve` wrote")
    parser.add_argument("--certificate", required=True, help="PEM file with the application's key and certificate")
    parser.add_argument("--record", help="file that gets every exchange as one JSON line")
    parser.add_argument("--profile", required=True, choices=["instant", "azure"])
    return parser.parse_args()


def main():
    args = arguments()
    # A refused token is told once, by the check.
    logging.getLogger("azure").setLevel(logging.CRITICAL)
    world, report = World.load(args.endpoints), Report(args.profile)
    recorder = Recorder(args.record) if args.record else None
    report.section("tokens", tokens.run, world, report, args.certificate)
    with clients.compute(world, clients.secret(world), recorder) as compute:
        if args.profile == "instant":
            everything(compute, world, report)
        else:
            in_time(compute, world, report)
    clean(world, report)
    print(f"{args.profile}: {report.passed} passed, {report.failed} failed")
    return 1 if report.failed or not report.passed else 0


def everything(compute, world, report):
    for part in [skus.run, disks.life, disks.lists, snapshots.run, machines.lists]:
        report.section(part.__module__, part, compute, world, report)
    for machine in machines.four(compute, world):
        report.section(machine.kind, machines.life, machine, report)
    for part in [newcomers.run, refusals.run, trouble.run]:
        report.section(part.__module__, part, compute, world, report)


def in_time(compute, world, report):
    """Where operations take time: the same lives, so that the clients' pollers poll."""
    with ThreadPoolExecutor() as threads:
        threads.submit(report.section, "disks", disks.life, compute, world, report)
        for machine in machines.four(compute, world):
            threads.submit(report.section, machine.kind, machines.life, machine, report)
    trouble.polled(world, report)


def clean(world, report):
    """The simulator keeps a list of what must never happen."""
    with report.check("afterwards: nothing happened that must never happen"):
        found = world.get("/_sim/violations")
        if isinstance(found, dict):
            found = found["violations"]
        if found:
            raise AssertionError(f"violations: {found}")


if __name__ == "__main__":
    sys.exit(main())

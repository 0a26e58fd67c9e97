"""Throttling, failures after acceptance, cut connections: scripted through the control API, seen as
the clients show them."""

from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.mgmt.compute.models import DiskUpdate

from . import clients, disks
from .machines import Single, action, luns
from .report import equal, holds, refused, same_id

NAME = "c-trouble"


class Faults:
    """A script that is in force inside a `with`, and the log of requests meanwhile."""

    def __init__(self, world, *faults):
        self.world, self.faults = world, faults

    def __enter__(self):
        self.world.send("POST", "/_sim/faults", {"faults": list(self.faults)})
        self.start = len(requests(self.world, 0))
        return self

    def __exit__(self, *_):
        self.world.send("DELETE", "/_sim/faults")

    def seen(self, method, name):
        """Statuses of the requests with this method whose path ends in this name; 0 is a cut one."""
        log = requests(self.world, self.start)
        return [line["status"] for line in log if line["method"] == method and line["path"].endswith(f"/{name}")]


def requests(world, since):
    return world.get(f"/_sim/requests?since={since}")["requests"]


def fault(method, name, do, times=1, **more):
    return {"method": method, "name": f"/{name}", "times": times, "effect": {"do": do, **more}}


def run(compute, world, report):
    made = disks.make(compute, world, [NAME])[NAME]
    throttled(compute, world, report)
    failing(compute, world, report, made)
    broken(compute, world, report, made)
    disks.remove(compute, world, [NAME])


def throttled(compute, world, report):
    with report.check("trouble: the client waits as long as a 429 says, and comes again"):
        with Faults(world, fault("GET", NAME, "throttle", retryAfter=1)) as faults:
            equal(compute.disks.get(world.group, NAME).name, NAME, "the disk")
            equal(faults.seen("GET", NAME), [429, 200], "the statuses")
    with report.check("trouble: a client that does not wait is told of the 429, its code and the time"):
        with (
            Faults(world, fault("GET", NAME, "throttle", retryAfter=17)),
            clients.compute(world, clients.secret(world), retry_total=0) as hasty,
        ):
            error = refused(lambda: hasty.disks.get(world.group, NAME), HttpResponseError, 429, "OperationNotAllowed")
            equal(error.response.headers["Retry-After"], "17", "Retry-After")
            equal([detail.code for detail in error.error.details], ["TooManyRequests"], "the code inside")
    with report.check("trouble: an expired token is refused as such"):
        with Faults(world, fault("GET", NAME, "tokenExpired")):
            call = lambda: compute.disks.get(world.group, NAME)
            refused(call, ClientAuthenticationError, 401, "ExpiredAuthenticationToken")


def failing(compute, world, report, made):
    told = {"code": "InternalExecutionError", "message": "An internal execution error occurred."}
    with report.check("trouble: an operation that fails after it was accepted is an error of the poller"):
        with Faults(world, fault("PATCH", NAME, "failAfterAccept", **told)):
            poller = compute.disks.begin_update(world.group, NAME, DiskUpdate(disk_size_gb=8))
            failed(poller, told["code"])
        equal(compute.disks.get(world.group, NAME).provisioning_state, "Failed", "the state of the disk")
        equal(compute.disks.get(world.group, NAME).disk_size_gb, 4, "its size")
    with report.check("trouble: the same change made again repairs the disk"):
        grown = compute.disks.begin_update(world.group, NAME, DiskUpdate(disk_size_gb=8)).result()
        equal((grown.disk_size_gb, grown.provisioning_state), (8, "Succeeded"), "the disk")
    solo = Single(compute, world, "standalone", "solo-0")
    with report.check("trouble: an attach that is preempted is an error of the poller"):
        with Faults(world, fault("POST", "attachDetachDataDisks", "preempted")):
            failed(solo.all.begin_attach_detach_data_disks(*solo.at, action(attach=[(made, 7)])), "OperationPreempted")
    with report.check("trouble: an attach that fails after it was accepted leaves the machine Failed"):
        solo.change([]).result()
        with Faults(world, fault("POST", "attachDetachDataDisks", "failAfterAccept", **told)):
            failed(solo.all.begin_attach_detach_data_disks(*solo.at, action(attach=[(made, 7)])), told["code"])
        equal(solo.get().provisioning_state, "Failed", "the state of the machine")
    with report.check("trouble: an update with an empty list repairs the machine and frees its disks"):
        solo.change([]).result()
        now = solo.get()
        equal((now.provisioning_state, luns(now.storage_profile)), ("Succeeded", []), "the machine")
        equal(compute.disks.get(world.group, NAME).disk_state, "Unattached", "the state of the disk")


def failed(poller, code):
    try:
        poller.result()
    except HttpResponseError as error:
        equal(error.error.code, code, f"the code of {error.message!r}")
        equal(poller.done(), True, "whether the poller is done")
    else:
        raise AssertionError("the operation succeeded")


def broken(compute, world, report, made):
    def get():
        return compute.disks.get(world.group, NAME)

    with report.check("trouble: a load balancer's page with 503 is got over"):
        with Faults(world, fault("GET", NAME, "htmlBody", status=503)) as faults:
            equal(get().unique_id, made.unique_id, "the disk")
            equal(faults.seen("GET", NAME), [503, 200], "the statuses")
    for what, do in [("before", "resetBefore"), ("after", "resetAfter")]:
        with report.check(f"trouble: a connection cut {what} a PUT took effect is got over"):
            with Faults(world, fault("PUT", f"{NAME}-{do}", do)) as faults:
                disks.make(compute, world, [f"{NAME}-{do}"])
                seen = faults.seen("PUT", f"{NAME}-{do}")
                holds(seen[0] == 0 and len(seen) == 2, f"{seen} are a cut request and a second one")
            disks.remove(compute, world, [f"{NAME}-{do}"])
    with report.check("trouble: ids in odd casing are ids all the same"):
        with Faults(world, fault("GET", NAME, "wrongCasing")):
            odd = get()
            holds(odd.id != made.id, f"{odd.id} is spelt another way")
            same_id(odd.id, made.id, "the id")


def polled(world, report):
    """Where operations take time, the pollers had to ask more than once."""
    with report.check("trouble: pollers asked for running operations again until they ended"):
        asked = {}
        for line in requests(world, 0):
            if "operations/" in line["path"].lower():
                asked[line["path"]] = asked.get(line["path"], 0) + 1
        often = [times for times in asked.values() if times > 1]
        holds(len(often) > 10, f"{len(often)} of {len(asked)} operations were polled more than once")
    with report.check("trouble: no request was refused that should not have been"):
        odd = [line for line in requests(world, 0) if line["status"] >= 500 or line["status"] == 429]
        equal(odd, [], "requests with 429 or 5xx")

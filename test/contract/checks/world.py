"""What the checks know of the running simulator: its endpoints, its nodes, its control port."""

import json
import urllib.request


class World:
    """The simulator, as its own endpoints file tells of it."""

    def __init__(self, endpoints):
        self.arm = endpoints["arm"]
        self.authority = endpoints["authority"]
        self.control = endpoints["control"]
        self.files = endpoints["files"]
        self.ca_file = endpoints["caFile"]
        self.tenant = endpoints["tenant"]
        self.subscription = endpoints["subscription"]
        self.group = endpoints["resourceGroup"]
        self.location = endpoints["location"]
        self.client_id = endpoints["clientId"]
        self.client_secret = endpoints["clientSecret"]
        self.token_file = endpoints["federatedTokenFile"]
        self.nodes = endpoints["nodes"]

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file))

    def id(self, kind, name, group=None):
        """The ARM id of a compute resource."""
        return (
            f"/subscriptions/{self.subscription}/resourceGroups/{group or self.group}"
            f"/providers/Microsoft.Compute/{kind}/{name}"
        )

    def get(self, path):
        """Reads from the control API."""
        with urllib.request.urlopen(f"{self.control}{path}") as answer:
            return json.load(answer)

    def send(self, method, path, body=None):
        """Writes to the control API."""
        data = json.dumps(body).encode() if body is not None else b""
        request = urllib.request.Request(
            f"{self.control}{path}", data=data, method=method, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        return json.loads(text) if text else None

"""Writes down what went over the wire, for the model check in `models/`.

A pipeline policy of the client's own kind: it sees every request as it is sent and every response
as it came, polls too, and changes neither. Headers, and so tokens, are never written.
"""

import json
from urllib.parse import parse_qs, urlsplit

from azure.core.pipeline.policies import SansIOHTTPPolicy


class Recorder(SansIOHTTPPolicy):
    """Appends one JSON line an exchange to a file."""

    def __init__(self, path):
        super().__init__()
        self.file = open(path, "a", encoding="utf-8")

    def on_response(self, request, response):
        sent, got = request.http_request, response.http_response
        parts = urlsplit(sent.url)
        line = {
            "client": "azure-mgmt-compute for Python",
            "method": sent.method,
            "path": parts.path,
            "apiVersion": parse_qs(parts.query).get("api-version", [""])[0],
            "request": as_json(sent.content or sent.data),
            "status": got.status_code,
            "response": as_json(got.body() if hasattr(got, "body") else got.content),
        }
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()


def as_json(body):
    """The body as JSON; nothing when there is none."""
    if not body:
        return None
    text = body.decode("utf-8") if isinstance(body, bytes) else body
    try:
        return json.loads(text)
    except ValueError:
        # A page of a load balancer, which a fault asked for.
        return None

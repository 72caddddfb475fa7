"""What no generator can know: a key is used once, a cursor was given out before, and who locks itself out tests nothing."""

import json
import os
import urllib.request
import uuid

import schemathesis
from schemathesis.generation import GenerationMode


def ask(path):
    request = urllib.request.Request(
        os.environ["SYNC_URL"] + path, headers={"Authorization": "Bearer " + os.environ["SYNC_TOKEN"]}
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as response:
        return json.load(response)


PRINCIPAL = ask("/v1/organization")["principal"]["id"]
TOKENS = {token["id"] for token in ask(f"/v1/tokens?limit=200&principal={PRINCIPAL}")["items"]}
NOBODY = "prn_" + "0" * 32
NOTHING = "tok_" + "0" * 32


@schemathesis.serializer("application/x-ndjson", "application/zstd")
def some_bytes(context, value):
    return value if isinstance(value, bytes) else json.dumps(value, default=str).encode()


@schemathesis.hook
def before_call(context, case, kwargs):
    path = case.path_parameters or {}
    if case.method.upper() != "GET":
        if path.get("token") in TOKENS:
            path["token"] = NOTHING
        if path.get("principal") == PRINCIPAL:
            path["principal"] = NOBODY
    if case.meta is None:
        return
    if case.meta.generation.mode is not GenerationMode.POSITIVE:
        # What has no form in a query is not sent at all, and then nothing is wrong with the request.
        for name, value in list((case.query or {}).items()):
            if value is None or value == [] or value == {}:
                case.query[name] = "nothing"
        return
    for name in list(case.headers or {}):
        if name.lower() == "idempotency-key":
            case.headers[name] = str(uuid.uuid4())
    if isinstance(case.body, dict) and case.body.get("clone_url"):
        # Any https address is one; most of those that are made up are of hosts that nothing is fetched from.
        case.body["clone_url"] = f"https://git.example/{uuid.uuid4()}"
    if case.query and "cursor" in case.query:
        del case.query["cursor"]

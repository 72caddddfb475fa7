"""``collector.yaml``: what leaves for Sync is a list of what stays, and no statement forgets a query or a password."""

import pathlib
import re

import yaml

CONFIG = yaml.safe_load((pathlib.Path(__file__).parents[2] / "collector.yaml").read_text())
STATEMENTS = CONFIG["processors"]["transform/sync"]["trace_statements"]


def kept(of):
    (statement,) = [text for text in STATEMENTS if text.startswith(f"keep_keys({of}.attributes, ")]
    return re.findall(r'"([^"]+)"', statement)


def cut(key, value):
    """What the statements make of an attribute."""
    for text in STATEMENTS:
        found = re.fullmatch(r'replace_pattern\(span\.attributes\["([^"]+)"\], "(.*)", "(.*)"\) where span\.attributes\["\1"\] != nil', text)
        if found and found.group(1) == key:
            value = re.sub(found.group(2), found.group(3).replace("$${1}", r"\1"), value)
    return value


def test_pipeline():
    pipeline = CONFIG["service"]["pipelines"]["traces/sync"]
    assert pipeline["processors"] == ["filter/sync", "transform/sync", "batch/sync"]
    assert pipeline["exporters"] == ["otlphttp/sync"]
    # What cannot be filtered or stripped is not sent.
    assert CONFIG["processors"]["filter/sync"]["error_mode"] == "propagate"
    assert CONFIG["processors"]["transform/sync"]["error_mode"] == "propagate"


def test_what_stays():
    assert {key for key in kept("span") if key.split(".")[0] not in ("code", "http", "server", "net", "rpc", "url", "sync")} == set()
    for key in ("code.file.path", "code.line.number", "code.column.number", "code.function.name", "sync.callsite.via"):
        assert key in kept("span")
    for key in ("url.query", "http.target", "http.request.header.authorization", "enduser.id", "user.id", "http.user_agent"):
        assert key not in kept("span")
    for key in ("host.name", "process.command_args", "process.owner", "host.id"):
        assert key not in kept("resource")


def test_urls_lose_query_fragment_and_user():
    for key in ("url.full", "http.url"):
        assert cut(key, "https://user:pw@api.stripe.com/v1/charges?limit=3&email=a@b#c") == "https://api.stripe.com/v1/charges"
        assert cut(key, "https://api.stripe.com/v1/a@b") == "https://api.stripe.com/v1/a@b"
        assert cut(key, "https://api.stripe.com/v1#x?y") == "https://api.stripe.com/v1"

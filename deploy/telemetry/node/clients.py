#!/usr/bin/env python3
"""Writes src/clients.json, the table of SDKs whose clients are wrapped, from Sync's own catalog of vendors.

Run: python3 clients.py (in a checkout of Sync); `--check` only says whether the file is as it would be written.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
CATALOG = HERE / "../../../ingest/catalog"
TABLE = HERE / "src/clients.json"

# Why a vendor is left out. What is not wrapped is located by the stack alone.
LEFT_OUT = {
    "aws-dynamodb": "its hosts are one a region",
    "aws-lambda": "its hosts are one a region",
    "aws-s3": "its hosts are one a region and bucket",
    "aws-secrets-manager": "its hosts are one a region",
    "aws-ses": "its hosts are one a region",
    "aws-sns": "its hosts are one a region",
    "aws-sqs": "its hosts are one a region",
    "customerio": "queues what several calls gave it",
    "firebase": "hands out singletons by name",
    "hubspot": "queues its requests: one may start while another call is under way",
    "slack": "queues its requests: one may start while another call is under way",
    "google": "its clients are made on objects of the package",
    "google-storage": "its hosts are one a bucket, and it uploads in streams of its own",
    "posthog": "queues what several calls gave it",
    "segment": "queues what several calls gave it",
    "shopify": "a framework: it calls the application",
    "supabase": "asks only when its result is awaited",
    "sanity": "asks only when its result is subscribed to",
    "telegram": "a framework: it polls by itself and calls the application",
    "algolia": "retries at hosts of its own choice",
    "xero": "fetches tokens beside each call",
}
# Frameworks that call the application, `octokit` since it queues its requests, functions for single requests.
LEFT_OUT_PACKAGES = {"octokit", "probot", "@octokit/request", "@octokit/graphql", "@actions/github", "openai-edge"}

# HTTP clients that start a request when no caller is on the stack any more. Each call names its host itself.
HTTP = {"got": {"exports": ["default", "got"], "http": True}}


def wanted(shape):
    """Whether an export of this shape is a client, or makes one."""
    return any(str(shape.get(key, "-")).split(" ")[0] in ("client", "") for key in ("new", "call", "client"))


def rows():
    for path in sorted(CATALOG.glob("*.json")):
        vendor = json.loads(path.read_text())
        if vendor["vendor"] in LEFT_OUT:
            continue
        for package in vendor.get("packages", []):
            shapes = package.get("shapes", {})
            base = package.get("client_options", {}).get("base_url", [])
            chains = [chain for chains in package.get("operations", {}).values() for chain in chains]
            subclients = any("()." in chain for chain in chains)
            for module in package.get("modules", []):
                exports = {name: module["exports"][name] for name in module.get("exports", {})}
                if "itself" in module:
                    exports.setdefault("default", module["itself"])
                names = sorted(name for name, shape in exports.items() if wanted(shapes.get(shape, {})))
                name = module["specifiers"][0]
                if not names or name in LEFT_OUT_PACKAGES or name.count("/") > name.startswith("@") or ":" in name:
                    continue
                row = {"exports": names, "hosts": sorted({server["host"] for server in vendor["servers"]})}
                if base:
                    row["base"] = base
                if subclients:
                    row["subclients"] = True
                yield name, row


def main():
    lines = (f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted([*rows(), *HTTP.items()]))
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if sys.argv[1:] == ["--check"]:
        if TABLE.read_text() != text:
            sys.exit(f"{TABLE.name} is not what the catalog says: run python3 {pathlib.Path(__file__).name}")
        return
    TABLE.write_text(text)


if __name__ == "__main__":
    main()

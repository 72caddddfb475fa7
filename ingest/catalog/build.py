#!/usr/bin/env python3
"""Writes the recorded operations of every vendor file beside this script.

usage: build.py RECORDINGS [FEEDS]

RECORDINGS: folder of recordings, one a package and version, as ingest/catalog/README.md describes them.
FEEDS:      folder of vendor change records; only the names that vendors give path parameters are taken from them.

Only the `operations` of each package are rewritten; everything else in a file is written by hand and kept, the order of
keys included. The result depends on nothing but the inputs, so a second run changes nothing.
"""
import collections
import glob
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def erase(operation):
    """The form in which operations compare (sync_core::operation::erase)."""
    method, path = operation.split(" ", 1)
    name = ""
    found = re.search(r" \([^)]*\)$", path)
    if found:
        path, name = path[: found.start()], found.group(0)
    path = re.sub(r"\{\?[^}]*\}|\?.*$", "", path)
    return f"{method} {re.sub(r'{[^}]*}', '{}', path)}{name}".rstrip("/").lower()


def snake(name):
    """A parameter as vendors write it; recordings carry the name of the SDK's argument, some in lower case."""
    plus = "+" if "+" in name else ""
    name = re.sub(r"\d+$", "", name.strip("+"))
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    if name == "arg":
        return plus + "id"
    if re.fullmatch(r"[a-z]{3,}id", name) and not name.endswith("sid"):
        name = name[:-2] + "_id"
    return plus + name


def clean(path, rules):
    """A path without what is an artefact of recording it."""
    path = re.sub(r"\{\?[^}]*\}|\?.*$", "", path)
    for pattern, replacement in rules.get("paths", []):
        path = re.sub(pattern, replacement, path)
    rename = rules.get("parameters", {})
    if rules.get("parameter_case") == "snake":
        path = re.sub(r"\{([^}]*)\}", lambda m: "{" + rename.get(m.group(1), snake(m.group(1))) + "}", path)
    else:
        path = re.sub(r"\{([^}]*)\}", lambda m: "{" + rename.get(m.group(1), m.group(1)) + "}", path)
    return path


# ---- what some recordings need before they are alike: each yields (chain, method, path, host, in_spec)


def plain(recording):
    for op in recording["operations"]:
        yield op["chain"], op["method"], op["path"], op.get("host"), op.get("in_spec", False)


def aws(recording):
    """Named operations; both the command and the member of the aggregated client request one."""
    for op in recording["operations"]:
        path = re.sub(r"[?#].*$", "", op["path"])
        path = f"{path} ({op['operation']})"
        member = op["operation"][0].lower() + op["operation"][1:]
        for chain in (f"send({op['operation']}Command)", member):
            yield chain, op["method"], path, None, False


def google(recording):
    """The service and its version come before the chain."""
    for op in recording["operations"]:
        service = op["service"]
        host = "www.googleapis.com" if service in ("storage", "oauth2") else f"{service}.googleapis.com"
        yield f"{service}.{op['api_version']}.{op['chain']}", op["method"], op["path"], host, False


def graphql(recording):
    """The root field is the operation. Linear's SDK turns the names of five kinds of mutations round."""
    for op in recording["operations"]:
        field = op["chain"].split(".")[-1]
        turned = re.fullmatch(r"(create|update|delete|archive|unarchive)([A-Z]\w*)", field)
        if op["graphql"]["kind"] == "mutation" and turned:
            verb, noun = turned.groups()
            field = noun[0].lower() + noun[1:] + verb[0].upper() + verb[1:]
        yield op["chain"], op["method"], f"{op['path']} ({field})", None, False


def shopify(recording):
    """Recordings name the HTTP verb of a REST resource; its members are `find` (one) and `all`. What an argument would
    decide (the parent of a metafield) has no operation."""
    paths = collections.defaultdict(set)
    for op in recording["operations"]:
        path = re.sub(r"^/admin/api/\d{4}-\d{2}/", "/admin/api/{api_version}/", op["path"])
        resource, verb = op["chain"].rsplit(".", 1)
        if verb == "get":
            verb = "find" if re.search(r"\{[^}]*\}\.json$", path) else "all"
        if verb in ("post", "put"):
            verb = None
        paths[(f"{resource}.{verb}" if verb else None, op["method"], path)].add(op["chain"])
    by_chain = collections.defaultdict(set)
    for chain, method, path in paths:
        by_chain[chain].add((method, path))
    for chain, found in sorted(by_chain.items(), key=str):
        for method, path in sorted(found):
            yield (chain if chain and len(found) == 1 else None), method, path, None, False


def auth0_3(recording):
    """The old client builds a path from a template whose last parameter falls away where it is not given."""
    chains = {op["chain"] for op in recording["operations"]}
    for op in recording["operations"]:
        chain, method, path = op["chain"], op["method"], op["path"]
        if chain.count(".") > 1:
            continue
        head, _, name = chain.rpartition(".")
        if head and re.search(r"[A-Z]|^credentials$|^jobs$|^importer$", name) and name in (
            "usersExports", "usersImports", "verificationEmail"):
            continue
        several = name == "getAll" or (not head and method == "GET" and name.endswith("s") and name[:-1] in chains)
        if path.endswith("/{id}") and (several or (method == "POST" and name.startswith("create"))):
            path = path[: -len("/{id}")]
        if method in ("PUT", "PATCH", "DELETE") and re.search(r"/(rules-configs|email-templates)$", path):
            path += "/{key}" if path.endswith("rules-configs") else "/{name}"
        yield chain, method, path, None, False


READERS = {"plain": plain, "aws": aws, "google": google, "graphql": graphql, "shopify": shopify, "auth0_3": auth0_3}


def vendor_names(folder):
    """(vendor, erased operation) -> template as the vendor's own change records write it."""
    names = collections.defaultdict(collections.Counter)
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))) if folder else []:
        records = json.load(open(path, encoding="utf-8"))
        for record in records if isinstance(records, list) else []:
            if "package" in record:
                continue  # Made by comparing recordings, so no word of the vendor's.
            operation = record.get("operation") or ""
            if re.fullmatch(r"[A-Z]+ /[^ ]*", operation) and "{arg" not in operation:
                vendor = record.get("vendor") or re.sub(r"^feed-|-changelog|\.json$", "", os.path.basename(path))
                names[vendor, erase(operation)][operation] += 1
    return {key: min(counter, key=lambda text: (-counter[text], text)) for key, counter in names.items()}


def build(file, recordings, names):
    vendor = file["vendor"]
    recording = file.get("recording", {})
    servers = {server["host"]: server.get("named_only", False) for server in file.get("servers", [])}
    rules = recording.get("rules", {})
    routes, known = [], set()
    for package in file.get("packages", []):
        wanted = recording.get("packages", {}).get(package["name"], [])
        if not wanted:
            # Recorded by `catalog build npm`, or written by hand.
            known.update(erase(text) for text in package.get("operations", {}))
            continue
        majors = [int(edition["version"].split(".")[0]) for edition in package["editions"]]
        recorded, found, templates = [], [], {}
        by_hand = {chain.split(" @")[0] for chains in package.get("added", {}).values() for chain in chains if "@" not in chain}
        for entry in wanted:
            data = json.load(open(os.path.join(recordings, entry["file"]), encoding="utf-8"))
            major = entry.get("edition", int(data["version"].split(".")[0]))
            if major not in recorded:
                recorded.append(major)
            for chain, method, path, host, in_spec in READERS[entry.get("reader", "plain")](data):
                if chain in by_hand:
                    continue
                replaced = recording.get("replace", {}).get(chain)
                if not replaced and (chain in recording.get("drop", []) or not path.startswith("/")):
                    continue
                if replaced:
                    method, rest = replaced.split(" ", 1)
                    slash = rest.index("/")
                    host, path = rest[:slash] or None, rest[slash:]
                else:
                    path = clean(path, rules) if " (" not in path else path
                operation = f"{method} {path}"
                key = erase(operation)
                # The vendor's own name for a parameter: its specification, its change records, else what was recorded.
                rank = 0 if replaced or in_spec else 2
                text = operation
                if rank and "{id}" not in names.get((vendor, key), "{id}"):
                    rank, text = 1, names[vendor, key]
                at = templates.get(key)
                if at is None or (rank, text) < at:
                    templates[key] = (rank, text)
                named = host if host in servers and servers[host] else None
                found.append((major, chain, key, named))
        by_operation = collections.defaultdict(lambda: collections.defaultdict(set))
        seen = {}
        for major, chain, key, host in found:
            method, path = templates[key][1].split(" ", 1)
            text = f"{method} {host or ''}{path}"
            if chain is None:
                by_operation[text]
                continue
            # The first recording that is listed for a version says what its chain requests.
            if seen.setdefault((major, chain), text) == text:
                by_operation[text][chain].add(major)
        operations = {}
        for text in sorted(by_operation, key=lambda text: (text.split(" ", 1)[1], text)):
            chains = []
            for chain, present in sorted(by_operation[text].items()):
                all_of_them = present == set(recorded)
                chains.append(chain if all_of_them else f"{chain} @{','.join(map(str, sorted(present)))}")
            if chains:
                operations[text] = chains
            else:
                routes.append(text)
        package["operations"] = operations
        known.update(templates)
    # What the vendor's records speak of existed, although no recorded client has it.
    if recording.get("packages"):
        by_hand = {erase(re.sub(r" [^/]*", " ", text.split(" as ")[-1], count=1)) for text in file.get("routes", [])}
        routes += [text for (owner, key), text in names.items() if owner == vendor and key not in known | by_hand]
    if recording.get("packages"):
        file["recorded_routes"] = sorted(routes)
        if not routes:
            del file["recorded_routes"]


def write(value, depth=0):
    """JSON with one operation, shape or server a line."""
    pad = " " * (depth + 1)
    if isinstance(value, dict) and value and (depth < 2 or depth < 4 and any(isinstance(v, (dict, list)) for v in value.values())):
        flat = json.dumps(value, ensure_ascii=False)
        if len(flat) <= 118 - depth and depth >= 2:
            return flat
        inner = ",\n".join(f"{pad}{json.dumps(k, ensure_ascii=False)}: {write(v, depth + 1)}" for k, v in value.items())
        return "{\n" + inner + "\n" + " " * depth + "}"
    if isinstance(value, list) and value and depth < 4:
        flat = json.dumps(value, ensure_ascii=False)
        if len(flat) <= 118 - depth:
            return flat
        if all(isinstance(item, (dict, list)) for item in value) or depth < 2:
            return "[\n" + ",\n".join(pad + write(item, depth + 1) for item in value) + "\n" + " " * depth + "]"
    return json.dumps(value, ensure_ascii=False)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    names = vendor_names(sys.argv[2] if len(sys.argv) == 3 else None)
    for path in sorted(glob.glob(os.path.join(HERE, "*.json"))):
        with open(path, encoding="utf-8") as handle:
            file = json.load(handle)
        build(file, sys.argv[1], names)
        with open(path, "w", encoding="utf-8") as handle:
            handle.write(write(file) + "\n")


main()

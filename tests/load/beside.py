#!/usr/bin/env python3
"""Measures `sync-ingest index` beside code-review-graph and codegraph: same machine, same run, same files.

usage: beside.py --peers DIR --binary FILE [--runs 3] [--memory-runs N] [--out FILE.json] [--only TOOL,…] [--check COUNT] [--seed N]
                 [--files-limit N] [--join NAME] [--no-updates] [--parsers FILE] REPOSITORY…

Each repository (a git repository, bare or not) is laid out below DIR with one commit. Then, for each tool: a cold index
(median of `--runs`; memory in as many further runs, so that looking does not slow what is timed), an update after an edit of
one file (a comment, a function's body, one more export; `--runs` of each) and one after edits of 50 files.
--peers    folder that keeps the installed peers and the working copies (or PEERS); installs them where they are missing
--memory-runs  how many runs memory is looked at in, instead of --runs
--only     of sync-ingest,code-review-graph,codegraph
--check    that many further edits (renames, removals, manifests, clients that move, …), each index with `--cache` compared with one without
--parsers  the built `parsers` benchmark: what reading, parsing and extracting alone cost on the files of the index
--join     lay all repositories out in one tree of this name and measure that
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

# The folder of the sources stays as it is.
sys.dont_write_bytecode = True
import processes
import trees

VERSIONS = {"code-review-graph": "2.3.9", "codegraph": "1.6.1"}
ONE_FILE = ["comment", "body", "export"]
EVERY = [*ONE_FILE, "rename", "remove", "restore", "swap", "unexport", "construct", "shadow", "manifest"]
MANY = 50


class Sync:
    """`sync-ingest index`, of commits; updates with `--cache`."""

    name = "sync-ingest"

    def __init__(self, options, work):
        self.binary, self.limit = os.path.abspath(options.binary), str(options.files_limit)
        self.cold_out, self.warm_out = os.path.join(work, "cold.ndjson"), os.path.join(work, "warm.ndjson")
        self.cache = os.path.join(work, "sync-cache")

    def index(self, tree, out, *more):
        return [self.binary, "index", tree, "--repository", "measured/measured", "--max-files", self.limit,
                "--max-entries", "10000000", "--out", out, *more]

    def forget(self, tree):
        shutil.rmtree(self.cache, ignore_errors=True)

    def cold(self, tree):
        return self.index(tree, self.cold_out)

    def fill(self, tree):
        return self.index(tree, self.warm_out, "--cache", self.cache)

    update = fill

    def files(self, tree, environment):
        with open(self.cold_out, "rb") as file:
            file.seek(max(0, os.path.getsize(self.cold_out) - 4096))
            return json.loads(file.read().splitlines()[-1])["files"]

    def paths(self):
        """The files of the last cold index."""
        with open(self.cold_out, encoding="utf-8") as file:
            rows = (json.loads(line) for line in file if line.startswith('{"kind":"file"'))
            return [row["path"] for row in rows]

    def bound(self):
        """The files that have call sites, and those that evidence leads to."""
        found = set()
        with open(self.cold_out, encoding="utf-8") as file:
            for row in (json.loads(line) for line in file if line.startswith('{"kind":"file"')):
                steps = [step.get("target") for site in row["call_sites"] for step in site["evidence"]]
                found |= {row["path"]} if steps else set()
                found |= {target.split("#")[0] for target in steps if target}
        return found

    def same(self, tree, environment):
        """Whether the last index with a cache has the bytes of one without."""
        processes.measure(self.cold(tree), environment, tree)
        return subprocess.run(["cmp", "-s", self.cold_out, self.warm_out]).returncode == 0


class CodeReviewGraph:
    """PyPI `code-review-graph`, as it comes: `build`, then `update` since the commit it was built at."""

    name = "code-review-graph"

    def __init__(self, options, work):
        home = os.path.join(options.peers, "code-review-graph")
        self.binary, self.data = os.path.join(home, "bin", "code-review-graph"), os.path.join(work, "crg-data")
        if not os.path.exists(self.binary):
            subprocess.run([sys.executable, "-m", "venv", home], check=True)
            subprocess.run([os.path.join(home, "bin", "pip"), "install", "-q",
                            f"code-review-graph=={VERSIONS[self.name]}"], check=True)

    def forget(self, tree):
        shutil.rmtree(self.data, ignore_errors=True)

    def command(self, verb, tree):
        return [self.binary, verb, "--repo", tree, "--data-dir", self.data]

    def cold(self, tree):
        return self.command("build", tree)

    fill = None

    def update(self, tree):
        return self.command("update", tree)

    def files(self, tree, environment):
        said = processes.measure(self.command("status", tree), environment, tree)["output"]
        return int(next(line.split()[1] for line in said.splitlines() if line.startswith("Files:")))


class Codegraph:
    """npm `@colbymchenry/codegraph`, as it comes: `init`, then `sync`."""

    name = "codegraph"

    def __init__(self, options, work):
        home = os.path.join(options.peers, "codegraph")
        self.binary = os.path.join(home, "node_modules", ".bin", "codegraph")
        if not os.path.exists(self.binary):
            os.makedirs(home, exist_ok=True)
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", home,
                            f"@colbymchenry/codegraph@{VERSIONS[self.name]}"], check=True)

    def forget(self, tree):
        shutil.rmtree(os.path.join(tree, ".codegraph"), ignore_errors=True)

    def cold(self, tree):
        return [self.binary, "init", "-y", tree]

    fill = None

    def update(self, tree):
        return [self.binary, "sync", tree]

    def files(self, tree, environment):
        said = processes.measure([self.binary, "status", "--json", tree], environment, tree)["output"]
        return json.loads(said[said.index("{"):])["fileCount"]


def middle(rows, key):
    known = [row[key] for row in rows if row[key] is not None]
    return round(statistics.median(known), 3) if known else None


def summary(rows):
    return {"runs": len(rows), **{key: middle(rows, key) for key in ("wall", "cpu", "pss_mib")}}


def cold(tool, tree, environment, runs, memory_runs):
    """Median cost of an index from nothing, and how many files it has."""
    timed, watched = [], []
    for rows, every in [(timed, None)] * runs + [(watched, 0.01)] * memory_runs:
        tool.forget(tree)
        rows.append(processes.measure(tool.cold(tree), environment, tree, memory_every=every))
    figures = {**summary(timed), "pss_mib": middle(watched, "pss_mib"), "files": tool.files(tree, environment)}
    return {**figures, "files_per_cpu_second": round(figures["files"] / figures["cpu"], 1)}


def alone(options, sync, tree, environment):
    """Median cost of steps of an index by themselves, on one thread, on the files of the last cold one."""
    listed = os.path.join(os.path.dirname(sync.cold_out), "files.txt")
    with open(listed, "w", encoding="utf-8") as file:
        file.writelines(path + "\n" for path in sync.paths())
    rows = {}
    for _ in range(options.runs):
        for mode in ("read", "oxc", "tree-sitter", "facts"):
            with open(listed, encoding="utf-8") as file:
                command = [os.path.abspath(options.parsers), mode, tree]
                rows.setdefault(mode, []).append(processes.measure(command, environment, tree, given=file))
    return {mode: {**summary(found), "said": found[0]["output"].strip()} for mode, found in rows.items()}


def updates(tools, tree, environment, runs, edits, check):
    """Median cost of an index after edits, each seen by all tools; and the edits after which Sync's bytes differ."""
    rows, unequal, checked = {}, [], 0

    def update(tool, what, edited):
        measured = processes.measure(tool.update(tree), environment, tree, memory_every=0.05)
        rows.setdefault((tool.name, what), []).append(measured)
        if isinstance(tool, Sync):
            compare(tool, what, edited)

    def compare(tool, what, edited):
        nonlocal checked
        checked += 1
        if not tool.same(tree, environment):
            unequal.append({"edit": what, "files": edited})
            print(f"UNEQUAL after {what} of {edited}", flush=True)

    for _ in range(runs):
        for kind in ONE_FILE:
            path = edits.one(kind)
            for tool in tools:
                update(tool, f"one file: {kind}", [path])
    for _ in range(runs):
        paths = edits.many(MANY, ONE_FILE)
        for tool in tools:
            update(tool, f"{MANY} files", paths)
    for tool in (tool for tool in tools if isinstance(tool, Sync)):
        for at in range(check):
            kind = EVERY[at % len(EVERY)]
            paths = [edits.one(kind)] if at % 7 else edits.many(9, EVERY)
            processes.measure(tool.update(tree), environment, tree)
            compare(tool, f"{kind} (check {at})", paths)
    return {f"{name}|{what}": summary(found) for (name, what), found in rows.items()}, {"checked": checked, "unequal": unequal}


def measure(options, name, repositories):
    work = os.path.join(options.peers, "work", name)
    tree = os.path.join(work, "tree")
    os.makedirs(work, exist_ok=True)
    # Nothing of the person who measures is read or written, and no tool reports its use.
    home = os.path.join(options.peers, "home")
    os.makedirs(home, exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "DO_NOT_TRACK": "1",
                   "CODEGRAPH_TELEMETRY": "0", "NO_COLOR": "1"}
    trees.lay_out(repositories, tree)
    tools = [kind(options, work) for kind in (Sync, CodeReviewGraph, Codegraph) if kind.name in options.only]
    result = {"repository": name, "commit": trees.git(tree, "rev-parse", "HEAD^{tree}").strip(),
              "entries": len(trees.git(tree, "ls-files").splitlines()), "load_before": os.getloadavg()[0], "cold": {}}
    for tool in tools:
        result["cold"][tool.name] = cold(tool, tree, environment, options.runs, options.memory_runs or options.runs)
        print(f"{name}: {tool.name} cold {result['cold'][tool.name]}", flush=True)
        if tool.fill:
            tool.forget(tree)
            result["cold"][f"{tool.name} --cache, empty"] = summary([processes.measure(tool.fill(tree), environment, tree)])
    if options.parsers and isinstance(tools[0], Sync):
        result["alone"] = alone(options, tools[0], tree, environment)
    if options.updates:
        edits = trees.Edits(tree, options.seed, likely=tools[0].bound() if isinstance(tools[0], Sync) else ())
        result["updates"], result["equality"] = updates(tools, tree, environment, options.runs, edits, options.check)
    return {**result, "load_after": os.getloadavg()[0]}


def cell(value, form):
    return format(value, form) if value is not None else "-"


def table(result):
    """The figures as text."""
    lines = [f"\n## {result['repository']}: {result['entries']} files in the tree, load {result['load_before']:.1f} to {result['load_after']:.1f}\n",
             "| what | tool | files | wall s | CPU s | peak PSS MiB | files per CPU s |", "|---|---|---:|---:|---:|---:|---:|"]
    for name, row in result["cold"].items():
        lines.append(f"| cold | {name} | {row.get('files', '')} | {row['wall']:.2f} | {row['cpu']:.2f} | {cell(row['pss_mib'], '.0f')} "
                     f"| {row.get('files_per_cpu_second', '')} |")
    for key, row in sorted(result.get("updates", {}).items(), key=lambda item: item[0].split("|")[::-1]):
        name, what = key.split("|")
        lines.append(f"| {what} | {name} | | {row['wall']:.2f} | {row['cpu']:.2f} | {cell(row['pss_mib'], '.0f')} | |")
    for mode, row in result.get("alone", {}).items():
        lines.append(f"| alone: {mode} | {row['said']} | | {row['wall']:.2f} | {row['cpu']:.2f} | | |")
    ours, others = result["cold"].get(Sync.name), [row for name, row in result["cold"].items() if not name.startswith(Sync.name)]
    if ours and others:
        fastest = max(row["files_per_cpu_second"] for row in others)
        lightest = min(row["pss_mib"] for row in others)
        lines.append(f"\nfiles per CPU second {ours['files_per_cpu_second'] / fastest:.1f} × the fastest peer's; "
                     f"peak memory {ours['pss_mib'] / lightest:.2f} × the lightest peer's")
    many = result.get("updates", {}).get(f"{Sync.name}|{MANY} files")
    if ours and many:
        lines.append(f"an update of {MANY} files takes 1/{ours['wall'] / many['wall']:.1f} of a cold index's wall time, "
                     f"1/{ours['cpu'] / many['cpu']:.1f} of its CPU time")
    if ours and "alone" in result:
        cost = {mode: row["cpu"] for mode, row in result["alone"].items()}
        lines.append(f"CPU seconds of the whole cold index: {ours['cpu'] / cost['oxc']:.2f} × oxc's parse and scopes alone, "
                     f"{ours['cpu'] / cost['facts']:.2f} × all that is done with one file alone, "
                     f"{ours['cpu'] / cost['tree-sitter']:.2f} × tree-sitter's parse alone")
    if "equality" in result:
        lines.append(f"bytes with a cache against without: {len(result['equality']['unequal'])} of {result['equality']['checked']} differ")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--peers", default=os.environ.get("PEERS"))
    parser.add_argument("--binary", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory-runs", type=int)
    parser.add_argument("--out")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[kind.name for kind in (Sync, CodeReviewGraph, Codegraph)])
    parser.add_argument("--check", type=int, default=0)
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--files-limit", type=int, default=1_000_000)
    parser.add_argument("--join")
    parser.add_argument("--parsers")
    parser.add_argument("--no-updates", dest="updates", action="store_false")
    parser.add_argument("repositories", nargs="+")
    options = parser.parse_args()
    if not options.peers:
        parser.error("--peers DIR or PEERS must say where the peers and the working copies are kept")
    options.peers = os.path.abspath(options.peers)
    processes.adopt_orphans()
    parts = lambda path: [part for part in os.path.abspath(path).split(os.sep) if part not in ("repo", ".git", "")]
    wanted = {options.join: options.repositories} if options.join else {parts(path)[-1]: [path] for path in options.repositories}
    report = {"machine": {"cores": os.cpu_count(), "system": platform.platform()}, "versions": VERSIONS,
              "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "results": []}
    for name, repositories in wanted.items():
        report["results"].append(measure(options, name, repositories))
        print(table(report["results"][-1]), flush=True)
        if options.out:
            with open(options.out, "w", encoding="utf-8") as file:
                json.dump(report, file, indent=1)
    if any(result.get("equality", {}).get("unequal") for result in report["results"]):
        sys.exit("an index with a cache differs from one without")


if __name__ == "__main__":
    main()

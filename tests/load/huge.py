#!/usr/bin/env python3
"""Measures `sync-ingest index` over repositories far beyond its limits: a million source files, and a blob of 4 GiB.

usage: huge.py --binary FILE --at DIR [--files 1000000] [--gib 4]

Each is made with `git fast-import` below DIR (once: what is there is taken as it is) and indexed as the service's child
does (`--limits`: memory, processor and wall time are bounded) with the default caps, as a user does (`--gate on`), as a
registered source is (`--gate auto`), and, of the million, once with the caps raised beyond it. Printed are exit code, wall
and CPU seconds, the highest memory of the process tree, the files of the snapshot and what was said.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

# The folder of the sources stays as it is.
sys.dont_write_bytecode = True
import processes

COMMITTER = b"committer measured <measured@example.org> 1767225600 +0000\n"
BESIDE = {"src/a.ts": b"export const f = () => fetch('https://api.stripe.com/v1/charges');\n"}


def files(count):
    """So many source files, a thousand a folder, that import each other; each content is another one."""
    for at in range(count):
        text = f"import {{ f{at - 1} }} from './f{at - 1}';\n" if at % 1000 else ""
        text += f"export function f{at}(x: number) {{ return x + {at}; }}\n"
        text += f"f{at - 1}({at});\n" if at % 1000 else ""
        yield f"packages/p{at // 1000:04}/src/f{at}.ts", text.encode()


def begin(folder):
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", folder], check=True)
    # A large blob goes to the pack as it comes, and zeros take little of it.
    return subprocess.Popen(["git", "-C", folder, "-c", "core.bigFileThreshold=1m", "fast-import", "--quiet"], stdin=subprocess.PIPE)


def commit(to, contents):
    to.write(b"commit refs/heads/main\n" + COMMITTER + b"data 5\nmany\n")
    for path, text in contents:
        to.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text))


def end(process):
    process.stdin.close()
    if process.wait() != 0:
        raise SystemExit("git fast-import failed")


def many(folder, count):
    process = begin(folder)
    commit(process.stdin, files(count))
    end(process)


def large(folder, size):
    process = begin(folder)
    to, chunk = process.stdin, bytes(1 << 20)
    to.write(b"blob\nmark :1\ndata %d\n" % size)
    for _ in range(size // len(chunk)):
        to.write(chunk)
    to.write(b"\n")
    commit(to, BESIDE.items())
    # A source by its name, behind a small one, and then something that comes behind so many bytes.
    to.write(b"M 100644 :1 src/large.ts\nM 100644 inline src/later.ts\ndata 0\n\n")
    end(process)


def index(binary, folder, what, *more):
    """One index: what it cost and what it said."""
    with tempfile.TemporaryDirectory() as out:
        snapshot = os.path.join(out, "out.ndjson")
        # As the child of a service it may open no file but those of the tree: it writes to what it was given.
        command = ["sh", "-c", f'exec "$0" "$@" > {snapshot}', binary, "index", folder, *more]
        measured = processes.measure(command, dict(os.environ), out, memory_every=0.05, refused=(3,))
        found = None
        if os.path.getsize(snapshot) > 0:
            with open(snapshot, "rb") as file:
                file.seek(max(0, os.path.getsize(snapshot) - 4096))
                found = json.loads(file.read().splitlines()[-1])["files"]
    print(f"{what}: {measured['wall']:.1f} s wall, {measured['cpu']:.1f} s CPU, {measured['pss_mib']:.0f} MiB, "
          f"files: {found}\n{measured['output'].strip()}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--at", required=True)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--gib", type=int, default=4)
    options = parser.parse_args()
    binary, at = os.path.abspath(options.binary), os.path.abspath(options.at)
    processes.adopt_orphans()
    os.makedirs(at, exist_ok=True)
    wide, deep = os.path.join(at, f"{options.files}-files.git"), os.path.join(at, f"{options.gib}-gib.git")
    for folder, make, size in ((wide, many, options.files), (deep, large, options.gib << 30)):
        if not os.path.exists(folder):
            make(folder, size)
        for what, more in {"as a user": [], "as a source": ["--gate", "auto"], "as a child of the service": ["--limits"]}.items():
            index(binary, folder, f"{os.path.basename(folder)} {what}", *more)
    index(binary, wide, "all of them", "--max-files", "10000000", "--max-entries", "10000000")
    print("load", os.getloadavg())


if __name__ == "__main__":
    main()

"""Lays repositories out as one working copy with one commit, and edits it in several ways."""
import os
import random
import re
import shutil
import subprocess

SOURCES = re.compile(r"\.(ts|tsx|mts|cts|js|jsx|mjs|cjs)$")
# Where the measured tools look at nothing, or where a file is not written by hand.
PASSED_OVER = re.compile(r"(^|/)(node_modules|dist|build|coverage|vendor|generated|fixtures?|__fixtures__)/|\.min\.|\.d\.ts$|(^|/)\.")
PERSON = ["-c", "user.name=measured", "-c", "user.email=measured@example.org", "-c", "commit.gpgsign=false",
          "-c", "core.autocrlf=false", "-c", "gc.auto=0"]


def git(folder, *arguments, environment=None):
    """What git says, or the end with its words."""
    done = subprocess.run(["git", *PERSON, "-C", folder, *arguments], env={**os.environ, **(environment or {})},
                          capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise SystemExit(f"git {' '.join(arguments)} in {folder}: {done.stderr.strip()}")
    return done.stdout


def lay_out(repositories, into):
    """A new git repository `into` with the files of HEAD of each repository: of one at the top, of several each in a folder
    of its own. Files that a partial clone lacks are left out."""
    shutil.rmtree(into, ignore_errors=True)
    os.makedirs(into)
    for repository in repositories:
        # A bare mirror is often called `repo`: the folder that contains it says more.
        parts = [part for part in os.path.abspath(repository).split(os.sep) if part not in ("repo", ".git", "")]
        at = into if len(repositories) == 1 else os.path.join(into, parts[-1].removesuffix(".git"))
        os.makedirs(at, exist_ok=True)
        index = os.path.join(into, ".layout")
        place = os.path.join(repository, ".git") if os.path.exists(os.path.join(repository, ".git")) else repository
        there = {"GIT_DIR": os.path.abspath(place), "GIT_WORK_TREE": at, "GIT_INDEX_FILE": index}
        subprocess.run(["git", "read-tree", "HEAD"], env={**os.environ, **there}, check=True)
        subprocess.run(["git", "checkout-index", "-a", "-q", "-f"], env={**os.environ, **there}, stderr=subprocess.DEVNULL)
        os.remove(index)
    git(into, "init", "-q", "-b", "main")
    # One of the tools writes its data into the working copy.
    with open(os.path.join(into, ".git", "info", "exclude"), "a", encoding="utf-8") as file:
        file.write(".codegraph/\n.code-review-graph/\n")
    git(into, "add", "-A", "-f")
    commit(into)


def commit(tree):
    """Commits all that differs, at a fixed time."""
    git(tree, "add", "-A")
    at = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    git(tree, "commit", "-q", "--allow-empty", "-m", "measured", environment=at)


class Edits:
    """Edits of a tree in a fixed order: the same seed and tree give the same edits."""

    def __init__(self, tree, seed):
        self.tree, self.random, self.count = tree, random.Random(seed), 0
        listed = git(tree, "ls-files", "-z").split("\0")
        self.files = sorted(path for path in listed if SOURCES.search(path) and not PASSED_OVER.search(path)
                            and 0 < self.size(path) < 256 * 1024)

    def size(self, path):
        whole = os.path.join(self.tree, path)
        return os.path.getsize(whole) if os.path.isfile(whole) and not os.path.islink(whole) else 0

    def one(self, kind):
        """Edits one file and commits: `comment` (a line at the end), `body` (in a function, if there is one), `export` (one
        more exported function), `rename` or `remove`. Says which file."""
        path = self.edit(kind)
        commit(self.tree)
        return path

    def many(self, count, kinds):
        """Edits `count` files, one kind after the other, and commits once."""
        paths = [self.edit(kinds[at % len(kinds)]) for at in range(count)]
        commit(self.tree)
        return paths

    def edit(self, kind):
        self.count += 1
        path = self.random.choice(self.files)
        whole = os.path.join(self.tree, path)
        if kind == "rename":
            to = re.sub(r"(\.\w+)$", rf"-{self.count}\1", path)
            os.rename(whole, os.path.join(self.tree, to))
            self.files[self.files.index(path)] = to
            return to
        if kind == "remove":
            os.remove(whole)
            self.files.remove(path)
            return path
        with open(whole, encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read()
        name = f"measured{self.count}"
        added = {"comment": f"\n// {name}\n", "export": f"\nexport function {name}(value) {{\n  return value;\n}}\n"}.get(kind)
        if added is None:
            # The first line of a function's body: facts change, exports do not.
            found = re.search(r"(=>|\bfunction\b[^\n{;]*\)[^\n{;]*)\s*\{[ \t]*\r?\n", text)
            line = f"const {name} = String({self.count});\n"
            text = text[:found.end()] + line + text[found.end():] if found else text + "\n" + line
        else:
            text += added
        with open(whole, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
        return path

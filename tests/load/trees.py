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
    """Edits of a tree in a fixed order: the same seed and tree give the same edits. Of `likely` files every other one."""

    def __init__(self, tree, seed, likely=()):
        self.tree, self.random, self.count, self.lost = tree, random.Random(seed), 0, set()
        listed = git(tree, "ls-files", "-z").split("\0")
        self.files = sorted(path for path in listed if SOURCES.search(path) and not PASSED_OVER.search(path)
                            and 0 < self.size(path) < 256 * 1024)
        self.known, self.likely = set(self.files), sorted(likely)

    def size(self, path):
        whole = os.path.join(self.tree, path)
        return os.path.getsize(whole) if os.path.isfile(whole) and not os.path.islink(whole) else 0

    def one(self, kind):
        """Edits one file and commits: `comment` (a line at the end), `body` (in a function, if there is one), `export` (one
        more exported function), or a kind that is a method below. Says which file."""
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
        return getattr(self, kind, self.append)(self.pick(), kind)

    def pick(self):
        """A file; where some matter more than others, every other time one of them."""
        likely = [path for path in self.likely if path in self.known] if self.count % 2 else []
        return self.random.choice(likely or self.files)

    def append(self, path, kind):
        added = {"comment": "\n// {0}\n", "export": "\nexport function {0}(value) {{\n  return value;\n}}\n"}[kind]
        return self.change(path, lambda text: text + added.format(f"measured{self.count}"))

    def body(self, path, _):
        """The first line of a function's body: facts change, exports do not."""
        line = f"const measured{self.count} = String({self.count});\n"

        def insert(text):
            found = re.search(r"(=>|\bfunction\b[^\n{;]*\)[^\n{;]*)\s*\{[ \t]*\r?\n", text)
            return text[:found.end()] + line + text[found.end():] if found else text + "\n" + line

        return self.change(path, insert)

    def rename(self, path, _):
        """The file gets another name; whoever imports it imports nothing."""
        to = re.sub(r"(\.\w+)$", rf"-{self.count}\1", path)
        os.rename(os.path.join(self.tree, path), os.path.join(self.tree, to))
        self.gone(path)
        self.there(to)
        return to

    def remove(self, path, _):
        os.remove(os.path.join(self.tree, path))
        self.gone(path)
        return path

    def restore(self, path, _):
        """The file as it was in the first commit, also when it was removed since."""
        first = git(self.tree, "rev-list", "--max-parents=0", "HEAD").strip()
        path = self.random.choice(sorted(self.lost)) if self.lost else path
        if subprocess.run(["git", "-C", self.tree, "checkout", "-q", first, "--", path], stderr=subprocess.DEVNULL).returncode == 0:
            self.there(path)
        return path

    def swap(self, path, _):
        """Two files of one ending exchange what they hold."""
        ending = os.path.splitext(path)[1]
        other = self.random.choice([it for it in self.files if it.endswith(ending)])
        here, there = self.text(path), self.text(other)
        self.change(path, lambda _: there)
        self.change(other, lambda _: here)
        return path

    def unexport(self, path, _):
        """An exported name becomes another, in its own file alone."""
        pattern = re.compile(r"(\bexport\s+(?:async\s+)?(?:const|let|function|class)\s+)(\w+)")
        return self.change(path, lambda text: pattern.sub(rf"\g<1>\g<2>{self.count}", text, count=1))

    def construct(self, path, _):
        """What is constructed gets one more argument: a client may move to another host."""
        pattern = re.compile(r"\bnew ([A-Z]\w*)\(")
        return self.change(path, lambda text: pattern.sub(r'new \1({ baseURL: "https://moved.example.org" }, ', text, count=1))

    def shadow(self, path, _):
        """A file that an import of the same text may now mean: a folder of a module's name with an index, or the reverse."""
        stem, ending = os.path.splitext(path)
        to = stem.removesuffix("/index") + ending if stem.endswith("/index") else f"{stem}/index{ending}"
        whole = os.path.join(self.tree, to)
        if not os.path.exists(whole) and not os.path.isfile(os.path.dirname(whole)):
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", encoding="utf-8") as file:
                file.write(f"export const shadow = {self.count};\nexport default shadow;\n")
            self.there(to)
        return to

    def manifest(self, _, __):
        """A manifest or configuration changes: a version, a name, where a package's entry is, what paths mean."""
        listed = [path for path in git(self.tree, "ls-files", "-z").split("\0")
                  if re.search(r"(^|/)(package\.json|tsconfig[\w.]*\.json)$", path) and self.size(path)]
        path = self.random.choice(listed)
        changes = [(r'("version":\s*")[^"]*', r"\g<1>9.9.9"), (r'("name":\s*"[^"]*)', r"\g<1>x"),
                   (r'("(?:main|module|types)":\s*")[^"]*', r"\g<1>./nowhere.js"), (r'("@[^"/]*/\*":\s*\[\s*")', r"\g<1>./moved/"),
                   (r'("(?:stripe|openai|resend|@octokit/rest|@slack/web-api)":\s*")[^"]*', r"\g<1>^1.0.0")]
        pattern, by = changes[self.count % len(changes)]
        return self.change(path, lambda text: re.sub(pattern, by, text, count=1))

    def there(self, path):
        self.lost.discard(path)
        if path not in self.known:
            self.known.add(path)
            self.files.append(path)

    def gone(self, path):
        self.lost.add(path)
        self.known.discard(path)
        self.files.remove(path)

    def text(self, path):
        with open(os.path.join(self.tree, path), encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()

    def change(self, path, by):
        """Writes what `by` makes of the file's text. Says which file."""
        text = by(self.text(path))
        with open(os.path.join(self.tree, path), "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
        return path

"""Which frame is the application's own."""

import asyncio
import inspect
import linecache
import os
import re
import sysconfig
from types import FrameType
from typing import Dict, FrozenSet, NamedTuple, Optional

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep

_INSTALLED = re.compile(r".*[\\/](?:site-packages|dist-packages)[\\/]")

_STDLIB = tuple(
    os.path.normcase(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib") if sysconfig.get_path(name)
)

# Event loops: what stands further out runs the loop, and made none of the requests of its tasks.
_LOOPS = frozenset({"asyncio", "uvloop", "trio", "anyio", "gevent", "twisted", "tornado"})

_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

# A call right behind what awaits it: only then is the awaited coroutine made on this line.
_AWAITED_CALL = re.compile(r"\b(?:await|async\s+with|async\s+for\b.*?\bin)\s+[\w.\[\]'\"]*\w\s*\(")

# Deeper than any request is made; a stack of recursion ends here.
_DEPTH = 250

# Files are few; the bound is for programs that make modules at run time.
_MOST_FILES = 10_000


class Site(NamedTuple):
    """A line of the application. ``function`` is qualified by its module."""

    file: str
    line: int
    function: str


class Frames:
    """Finds frames of the application. ``include``: top-level packages that are its own though they are installed."""

    def __init__(self, include: FrozenSet[str]) -> None:
        self._include = include
        self._files: Dict[str, Optional[str]] = {}

    def nearest(self, frame: Optional[FrameType], task: Optional["asyncio.Task[object]"] = None) -> Optional[Site]:
        """The application's frame nearest to ``frame``, outwards, within the task that runs."""
        outermost = getattr(task.get_coro(), "cr_frame", None) if task is not None else None
        inner = None
        for _ in range(_DEPTH):
            if frame is None:
                return None
            file = self._file(frame.f_code.co_filename)
            if file is not None:
                awaits = inner is not None and inner.f_code.co_flags & _COROUTINE
                return None if awaits and not _awaits_call(frame) else Site(file, frame.f_lineno, _qualified(frame))
            if frame is outermost or str(frame.f_globals.get("__name__")).partition(".")[0] in _LOOPS:
                return None
            inner, frame = frame, frame.f_back
        return None

    def made(self, task: Optional["asyncio.Task[object]"]) -> Optional[Site]:
        """Where the application itself made the coroutine that runs as ``task``.

        Only the maker's own frame counts: a task that a package starts for its own purposes is no call of whoever
        happened to be further up.
        """
        coroutine = task.get_coro() if task is not None else None
        origin = getattr(coroutine, "cr_origin", None)
        # A coroutine of the application's has its own line on the stack, or none is sure.
        if not origin or self._file(coroutine.cr_code.co_filename) is not None:
            return None
        name, line, function = origin[0]
        file = self._file(name)
        return None if file is None else Site(file, line, function)

    def _file(self, name: str) -> Optional[str]:
        """The path to report for code of this file; None where it is not the application's."""
        try:
            return self._files[name]
        except KeyError:
            if len(self._files) >= _MOST_FILES:
                self._files.clear()
            file = self._files[name] = self._classify(name)
            return file

    def _classify(self, name: str) -> Optional[str]:
        # `<frozen …>`, `<string>` and the like are no files.
        if name.startswith("<") or not name:
            return None
        path = os.path.abspath(name)
        if path.startswith(_OWN):
            return None
        installed = _INSTALLED.match(path)
        if installed:
            inside = path[installed.end() :]
            # Relative: where it is installed says nothing about where it is in its repository.
            return inside if re.split(r"[\\/.]", inside, maxsplit=1)[0] in self._include else None
        return None if os.path.normcase(path).startswith(_STDLIB) else path


def _awaits_call(frame: FrameType) -> bool:
    """Whether a frame that awaits made what it awaits on the same line, as far as its source is at hand."""
    return _AWAITED_CALL.search(linecache.getline(frame.f_code.co_filename, frame.f_lineno)) is not None


def _qualified(frame: FrameType) -> str:
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)
    module = frame.f_globals.get("__name__")
    return f"{module}.{name}" if isinstance(module, str) else name

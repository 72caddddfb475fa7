"""The span processor: where a client span starts, the nearest frame of the application is its line."""

import asyncio
import logging
import os
import sys
from typing import Iterable, Optional, Tuple

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanKind

from .frames import Frames, Site

_LOG = logging.getLogger(__name__)

INCLUDE = "SYNC_CALLSITES_INCLUDE"


class CallSiteSpanProcessor(SpanProcessor):
    """Sets ``code.file.path``, ``code.line.number``, ``code.function.name`` and ``sync.callsite.via`` (``stack`` or
    ``task``) on CLIENT and PRODUCER spans when they start.

    Leaves spans alone that carry any ``code.*`` already, spans of databases, and spans whose line it is not sure of.
    Never raises.

    ``include``: packages of yours that are *installed* (``pip install .`` in an image), by their top-level names; code
    below ``site-packages`` is somebody else's otherwise. By default what the variable ``SYNC_CALLSITES_INCLUDE`` lists,
    separated by commas.

    ``tasks``: have Python remember where coroutines are made (one frame each), so that a request in a task of
    ``asyncio.gather(client.get(…), client.get(…))`` has its line too.
    """

    def __init__(self, include: Optional[Iterable[str]] = None, tasks: bool = True) -> None:
        names = os.environ.get(INCLUDE, "").split(",") if include is None else include
        self._frames = Frames(frozenset(name.strip() for name in names if name.strip()))
        self._tasks = tasks
        self._track()

    def on_start(self, span: Span, parent_context: Optional[Context] = None) -> None:
        try:
            if span.kind not in (SpanKind.CLIENT, SpanKind.PRODUCER):
                return
            # Another's location stands; a database is no vendor's API.
            if any(key.startswith(("code.", "db.")) for key in span.attributes or ()):
                return
            site, via = self._site()
            if site is None:
                return
            span.set_attributes(
                {
                    "code.file.path": site.file,
                    "code.line.number": site.line,
                    "code.function.name": site.function,
                    "sync.callsite.via": via,
                }
            )
        except Exception as error:  # noqa: BLE001 - the application's request must not fail because of us
            _LOG.debug("a span was not located: %s", error)

    def on_end(self, span: ReadableSpan) -> None:
        pass

    def shutdown(self) -> None:
        pass

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return True

    def _site(self) -> Tuple[Optional[Site], str]:
        task = _task()
        site = self._frames.nearest(sys._getframe(2), task)
        if site is not None or not self._tasks:
            return site, "stack"
        self._track()
        return self._frames.made(task), "task"

    def _track(self) -> None:
        """The setting is a thread's own: threads that started later get it with their first span."""
        if self._tasks and sys.get_coroutine_origin_tracking_depth() == 0:
            sys.set_coroutine_origin_tracking_depth(1)


def _task() -> Optional["asyncio.Task[object]"]:
    try:
        return asyncio.current_task()
    except RuntimeError:
        # No event loop runs in this thread.
        return None

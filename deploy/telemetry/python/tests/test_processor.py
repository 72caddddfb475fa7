"""What must not change because of us, and what only looks like the application's code."""

import asyncio
import subprocess
import sys
import sysconfig
import textwrap

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind

from sync_otel_callsites import CallSiteSpanProcessor
from sync_otel_callsites.frames import Frames


def start(kind=SpanKind.CLIENT, attributes=None):
    span = trace.get_tracer("tests").start_span("span", kind=kind, attributes=attributes)
    span.end()
    return dict(span.attributes)


def line_of(attributes):
    return attributes.get("code.line.number")


def test_clients_and_producers_only(exporter):
    for kind in (SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CONSUMER):
        assert start(kind) == {}
    assert line_of(start(SpanKind.PRODUCER)) is not None
    assert line_of(start()) is not None


@pytest.mark.parametrize("key", ["code.filepath", "code.file.path", "code.function", "db.system", "db.system.name"])
def test_what_others_set_stays(exporter, key):
    assert start(attributes={key: "x"}) == {key: "x"}


def test_never_raises():
    processor = CallSiteSpanProcessor()

    class Broken:
        kind = SpanKind.CLIENT

        @property
        def attributes(self):
            raise RuntimeError("broken")

    processor.on_start(Broken())
    processor.on_end(None)
    assert processor.force_flush()
    processor.shutdown()


def run_as(path, source="def call(frames):\n    return here(frames)\n"):
    """The site of a call by code that stands in the file ``path``."""

    def here(frames):
        return frames.nearest(sys._getframe(1))

    space = {"here": here, "__name__": "module"}
    exec(compile(source, path, "exec"), space)
    return space["call"]


def test_code_of_others_is_passed_over(tmp_path):
    frames = Frames(frozenset())
    here = sysconfig.get_path("stdlib")
    for path in (
        str(tmp_path / "lib/python3.12/site-packages/sdk/client.py"),
        "/usr/lib/python3/dist-packages/sdk/client.py",
        here + "/json/__init__.py",
        "<string>",
        "<frozen importlib._bootstrap>",
    ):
        # The next frame outwards is this test's.
        assert run_as(path)(frames).file == __file__
    assert run_as(str(tmp_path / "application.py"))(frames) == (str(tmp_path / "application.py"), 2, "module.call")


def test_installed_packages_of_ones_own(tmp_path):
    path = str(tmp_path / "lib/python3.12/site-packages/shop/orders.py")
    assert run_as(path)(Frames(frozenset({"shop"}))).file == "shop/orders.py"
    assert run_as(path)(Frames(frozenset({"sho", "orders"}))).file == __file__
    assert run_as(path.replace("shop/orders.py", "shop.py"))(Frames(frozenset({"shop"}))).file == "shop.py"


def test_included_packages_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("SYNC_CALLSITES_INCLUDE", " shop , ")
    assert CallSiteSpanProcessor()._frames._include == {"shop"}


def test_a_task_of_a_package_for_its_own_purposes_names_nobody(exporter, tmp_path):
    package = tmp_path / "site-packages/queueing.py"
    package.parent.mkdir()
    package.write_text(
        textwrap.dedent(
            """
            import asyncio

            async def flush(start):
                return start()

            def submit(start):
                return asyncio.ensure_future(flush(start))
            """
        )
    )
    sys.path.insert(0, str(package.parent))
    try:
        import queueing
    finally:
        sys.path.remove(str(package.parent))

    async def main():
        # What starts the span is the package's own, too: a bound method of the SDK's tracer.
        tracer = trace.get_tracer("tests")
        return await queueing.submit(lambda: None), await queueing.submit(
            __import__("functools").partial(tracer.start_span, "span", kind=SpanKind.CLIENT)
        )

    _, span = asyncio.run(main())
    assert dict(span.attributes) == {}


def test_without_tasks_nothing_is_tracked():
    code = (
        "import sys; from sync_otel_callsites import CallSiteSpanProcessor as P; P(tasks=False);"
        "assert sys.get_coroutine_origin_tracking_depth() == 0; P();"
        "assert sys.get_coroutine_origin_tracking_depth() == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_opentelemetry_instrument_needs_no_code(url, tmp_path):
    script = tmp_path / "application.py"
    script.write_text(f"import requests\n\nrequests.get('{url}/v1/refunds')\n")
    # As opentelemetry-instrument does it, in a process of its own; spans are printed.
    code = (
        "from opentelemetry.instrumentation.auto_instrumentation import initialize; initialize();"
        f"import runpy; runpy.run_path({str(script)!r})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none", "PATH": ""},
    )
    assert f'"code.file.path": "{script}"' in ran.stdout, ran.stderr
    assert '"code.line.number": 3' in ran.stdout

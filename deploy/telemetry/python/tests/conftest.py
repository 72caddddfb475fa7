import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry import trace
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sync_otel_callsites import CallSiteSpanProcessor


class StandIn(BaseHTTPRequestHandler):
    """What Stripe's API answers, on loopback."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        path, _, query = self.path.partition("?")
        body = {"id": "ch_1", "object": "charge", "status": "succeeded"}
        if self.command == "GET":
            last = "starting_after" in query
            body = {"object": "list", "url": path, "has_more": not last, "data": [{"id": "ch_2", "object": "charge"}]}
        sent = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def url():
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def exporter():
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(CallSiteSpanProcessor())
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    RequestsInstrumentor().instrument()
    HTTPXClientInstrumentor().instrument()
    return kept


@pytest.fixture
def spans(exporter):
    """Finished spans of this test in the order in which they started."""
    exporter.clear()
    return lambda: sorted(exporter.get_finished_spans(), key=lambda span: span.start_time)

"""For ``opentelemetry-instrument``: adds the processor to the tracer provider that it has set up."""

import logging
from typing import Any, Collection

from opentelemetry import trace
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from .processor import CallSiteSpanProcessor

_LOG = logging.getLogger(__name__)


class CallSiteInstrumentor(BaseInstrumentor):
    def instrumentation_dependencies(self) -> Collection[str]:
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        provider = kwargs.get("tracer_provider") or trace.get_tracer_provider()
        add = getattr(provider, "add_span_processor", None)
        if add is None:
            _LOG.warning("no tracer provider of the OpenTelemetry SDK is set up: spans will not name their lines")
            return
        add(CallSiteSpanProcessor())

    def _uninstrument(self, **kwargs: Any) -> None:
        """Processors cannot be taken away from a provider; it stays, and does no harm."""

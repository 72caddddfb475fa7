"""Puts the line of your code that made a request onto OpenTelemetry client spans."""

from .processor import CallSiteSpanProcessor

__all__ = ["CallSiteSpanProcessor"]

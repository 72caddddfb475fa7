"""Every request of ``application.py`` names exactly its line, or none."""

import asyncio
import inspect
import pathlib
import re

import application
import pytest

FILE = pathlib.Path(application.__file__)
MARKS = {
    number: mark.group(1)
    for number, text in enumerate(FILE.read_text().splitlines(), 1)
    if (mark := re.search(r"# @([\w-]+)", text))
}

# Per function the marks in the order in which its requests start; None where nothing may be named.
EXPECTED = {
    "stripe_sync": ["sync", "lines", "second-page", "second-page"],
    "stripe_pages_apart": ["first-page", "next-pages"],
    "plain": ["requests", "httpx", None, "thread"],
    # What is made on one line and awaited on another names neither.
    "awaited": ["await", None, None, "await-httpx"],
    "streamed": ["stream", "async-pages", "async-pages"],
    "hook": ["in-hook", "hooked"],
}


def named(span):
    line = (span.attributes or {}).get("code.line.number")
    return None if line is None else MARKS.get(line, f"line {line}")


def run(name, url):
    result = getattr(application, name)(url)
    if inspect.isawaitable(result):
        asyncio.run(result)


@pytest.mark.parametrize("name", EXPECTED)
def test_lines(name, url, spans):
    run(name, url)
    assert [named(span) for span in spans()] == EXPECTED[name]
    for span in spans():
        if named(span):
            assert span.attributes["code.file.path"] == str(FILE)
            assert span.attributes["sync.callsite.via"] == "stack"


def test_tasks(url, spans):
    run("gathered", url)
    found = [(named(span), span.attributes.get("sync.callsite.via")) for span in spans()]
    # Requests that start at the same time have no order.
    assert sorted(found[:2]) == [("gather-first", "task"), ("gather-second", "task")]
    assert found[2:] == [
        ("own-coroutine", "stack"),
        ("own-coroutine", "stack"),
        ("task", "task"),
        ("gather-sdk", "task"),
    ]
    paths = {named(span): span.attributes["http.url"].rsplit("/", 1)[1] for span in spans()[:2]}
    assert paths == {"gather-first": "first", "gather-second": "second"}


def test_function_is_qualified(url, spans):
    application.plain(url)
    assert spans()[0].attributes["code.function.name"] == "application.plain"

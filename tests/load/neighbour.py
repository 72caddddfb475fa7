#!/usr/bin/env python3
"""A noisy neighbour, measured by hand: see README.md, "A noisy neighbour".

Asks one service as two organizations. First the quiet one alone, at a steady rate; then the same while the noisy one asks
as fast as it can, many times its limit. Prints the latencies of the quiet one, what the noisy one was answered, and the
memory of the service. Standard library only.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import statistics
import time
from collections import Counter
from urllib.parse import urlsplit

CALL = json.dumps({
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "sync_repositories", "arguments": {}},
})

BURST = 3


class Caller:
    """One connection of one token."""

    def __init__(self, url, token):
        self.host = urlsplit(url).netloc
        self.token = token
        self.connection = None

    def ask(self):
        """Sends one question; gives the status, the error's code and whether the headers of limits are there."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, timeout=30)
        headers = {
            "Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        try:
            self.connection.request("POST", "/mcp", CALL, headers)
            response = self.connection.getresponse()
            body = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.connection = None
            return "connection", type(error).__name__, False
        result = body.get("result", {})
        code = None
        if result.get("isError"):
            code = json.loads(result["content"][0]["text"])["error"]["code"]
        told = "ratelimit" in response.headers and ("retry-after" in response.headers or code is None)
        return response.status, code, told


def quiet(url, token, rate, seconds):
    """Latencies in milliseconds at a steady rate, and how many did not end well."""
    caller, times, wrong = Caller(url, token), [], Counter()
    begin = time.monotonic()
    for n in range(int(rate * seconds)):
        due = begin + n / rate
        time.sleep(max(0.0, due - time.monotonic()))
        status, code, _ = caller.ask()
        # From when it was due: a service that makes its callers wait does not get away with fewer questions.
        times.append((time.monotonic() - due) * 1e3)
        if status != 200 or code is not None:
            wrong[(status, code)] += 1
    return times, wrong


def noisy(url, token, rate, until, told):
    """Asks at a rate, or as fast as it is answered; in a process of its own, so that it takes no time of the quiet one's."""
    caller, counted = Caller(url, token), Counter()
    begin, n = time.monotonic(), 0
    while time.monotonic() < until:
        time.sleep(max(0.0, begin + n / rate - time.monotonic()))
        counted[caller.ask()] += 1
        n += 1
    told.put(counted)


def shown(times):
    times = sorted(times)
    at = lambda share: times[min(len(times) - 1, int(len(times) * share))]
    return f"p50 {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms, most {times[-1]:.1f} ms of {len(times)}"


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--noisy", required=True, help="token of the noisy organization")
    parser.add_argument("--quiet", required=True, help="token of the quiet organization")
    parser.add_argument("--callers", type=int, default=4, help="processes of the noisy one, with a connection each")
    parser.add_argument("--noisy-rate", type=float, default=625, help="questions a second of the noisy one, at the most")
    parser.add_argument("--rate", type=float, default=10, help="questions a second of the quiet one")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--pid", type=int, help="process of the service, for its memory")
    given = parser.parse_args()

    quiet(given.url, given.quiet, given.rate, 3)
    alone = quiet(given.url, given.quiet, given.rate, given.seconds)
    before = resident(given.pid) if given.pid else None
    told = multiprocessing.Queue()
    until = time.monotonic() + given.seconds + BURST
    rate = given.noisy_rate / given.callers
    processes = [
        multiprocessing.Process(target=noisy, args=(given.url, given.noisy, rate, until, told))
        for _ in range(given.callers)
    ]
    for process in processes:
        process.start()
    # The noisy one may use its whole quota at once; that is over soon, and then it is over its limit.
    time.sleep(BURST)
    beside = quiet(given.url, given.quiet, given.rate, given.seconds)
    answers = sum((told.get() for _ in processes), Counter())
    for process in processes:
        process.join()

    p99 = lambda times: statistics.quantiles(times, n=100)[98]
    print(f"load average {os.getloadavg()[0]:.1f}")
    print(f"quiet, alone:  {shown(alone[0])}; not well: {dict(alone[1])}")
    print(f"quiet, beside: {shown(beside[0])}; not well: {dict(beside[1])}; p99 is {p99(beside[0]) / p99(alone[0]):.2f} x")
    total = sum(answers.values())
    print(f"noisy: {total} questions, {total / (given.seconds + BURST):.0f} a second:")
    for (status, code, told), count in answers.most_common():
        print(f"  {count:8} {status} {code or 'answered'}{'' if told else ', without the headers of limits'}")
    if before:
        print(f"memory of the service: {before} MiB before, {resident(given.pid)} MiB after")


if __name__ == "__main__":
    main()

"""Runs a command and says what it and all that it started cost.

CPU seconds are user + system of the whole process tree; memory is the highest sum of the proportional set sizes (PSS) of
all its processes at one time, so that pages they share count once. Linux only.
"""
import ctypes
import os
import resource
import signal
import subprocess
import threading
import time

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def adopt_orphans():
    """Makes what a command leaves behind a child of this process, so that its time is counted and it can be ended."""
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this process cannot adopt what a command leaves behind")


def children():
    """Parent → children of all processes now."""
    tree = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                # The command's name may hold spaces and brackets: what follows its last bracket is split.
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        tree.setdefault(parent, []).append(int(name))
    return tree


def descendants(of):
    """Ids of the processes below `of`."""
    tree, found, todo = children(), [], [of]
    while todo:
        below = tree.get(todo.pop(), [])
        found += below
        todo += below
    return found


def proportional(pid):
    """PSS of a process in KiB; none when it has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return 0


class Memory(threading.Thread):
    """Looks at the memory of a process and all below it until it is told to stop."""

    def __init__(self, pid, interval):
        super().__init__(daemon=True)
        self.pid, self.interval, self.peak, self.over = pid, interval, 0, threading.Event()

    def run(self):
        while not self.over.is_set():
            now = sum(proportional(pid) for pid in [self.pid, *descendants(self.pid)])
            self.peak = max(self.peak, now)
            self.over.wait(self.interval)


def spent():
    """CPU seconds of all children that were waited for."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def measure(command, environment, folder, memory_every=None, given=subprocess.DEVNULL, limit=7200, refused=()):
    """Runs `command` in `folder`, with the file `given` as its input: `{wall, cpu, pss_mib, output}` (seconds, MiB; `pss_mib` where `memory_every` seconds are
    given). Fails when the command does, other than with a code of `refused`."""
    before, begin = spent(), time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True)
    watch = Memory(process.pid, memory_every) if memory_every else None
    if watch:
        watch.start()
    try:
        output, _ = process.communicate(timeout=limit)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    wall = time.monotonic() - begin
    if watch:
        watch.over.set()
        watch.join()
    end_what_is_left()
    text = output.decode("utf-8", errors="replace")
    if process.returncode not in (0, *refused):
        raise SystemExit(f"failed with {process.returncode}: {' '.join(command)}\n{text[-2000:]}")
    return {"wall": wall, "cpu": spent() - before, "pss_mib": watch.peak / 1024 if watch else None, "output": text}


def end_what_is_left(patience=5.0):
    """Waits for what the command left running, and ends it when it stays: its time belongs to the command."""
    until = time.monotonic() + patience
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            if time.monotonic() > until:
                for left in descendants(os.getpid()):
                    try:
                        os.kill(left, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            time.sleep(0.01)

"""Counts and prints checks: one line each, and the reason below the line of one that failed."""

import threading
import time
import traceback
from contextlib import contextmanager


class Report:
    """What was checked so far."""

    def __init__(self, label):
        self.label = label
        self.passed = 0
        self.failed = 0
        self.lock = threading.Lock()

    @contextmanager
    def check(self, what):
        """One check; whatever is raised inside fails it and the next one goes on."""
        start = time.monotonic()
        try:
            yield
        except Exception as error:
            self.fail(what, error)
        else:
            with self.lock:
                self.passed += 1
                print(f"ok    {self.label}: {what} ({time.monotonic() - start:.1f} s)", flush=True)

    def section(self, what, call, *args):
        """A part whose set-up may fail too; the next one goes on."""
        try:
            call(*args)
        except Exception as error:
            self.fail(f"{what}: between its checks", error)

    def fail(self, what, error):
        with self.lock:
            self.failed += 1
            print(f"FAIL  {self.label}: {what}\n{indented(reason(error))}", flush=True)


def reason(error):
    """The error, and where in the checks it came up."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/checks/" in frame.filename]
    at = f"{ours[-1].filename.rsplit('/', 1)[-1]}:{ours[-1].lineno}: " if ours else ""
    return f"{at}{type(error).__name__}: {error}"


def indented(text):
    return "\n".join(f"        {line}" for line in text.strip().splitlines())


def equal(actual, wanted, what):
    """Fails unless both are equal."""
    if actual != wanted:
        raise AssertionError(f"{what} is {actual!r}, not {wanted!r}")


def same_id(actual, wanted, what):
    """Fails unless both are the same ARM id; Azure does not keep the case of ids."""
    if (actual or "").lower() != wanted.lower():
        raise AssertionError(f"{what} is {actual!r}, not {wanted!r}")


def holds(condition, what):
    """Fails unless the condition is true."""
    if not condition:
        raise AssertionError(f"it does not hold that {what}")


def refused(call, kind, status, code, text=""):
    """Runs `call`, which must raise exactly this typed exception, and gives it back."""
    try:
        result = call()
    except kind as error:
        equal(error.status_code, status, f"the status of {error.message!r}")
        given = getattr(error.error, "code", None)
        equal(given, code, f"the code of {error.message!r}")
        holds(text.lower() in str(error).lower(), f"{str(error)!r} says {text!r}")
        return error
    raise AssertionError(f"it was not refused with {status} {code} but gave {result!r}")

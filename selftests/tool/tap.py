# SPDX-License-Identifier: GPL-2.0-only
"""Tests in Python that print TAP. Each function whose name begins with "test_" is a test; its
first line of documentation is the name. Why a test failed is printed on stderr."""
import os
import subprocess
import sys
import traceback

TOOL = os.environ.get("USER_EVENTS", os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../build/tools/user-events"))


def tool(*arguments, status=0, environment=None):
    """Runs the tool. Returns its output and its messages, as bytes."""
    run = subprocess.run([TOOL, *arguments], capture_output=True, timeout=120, check=False,
                         env={**os.environ, "TZ": "UTC", **(environment or {})})
    assert run.returncode == status, f"status {run.returncode}: {run.stderr!r}"
    assert (run.returncode == 0) or run.stderr, "it fails without a message"
    return run.stdout, run.stderr


def same(found, expected):
    assert found == expected, f"found    {found!r}\nexpected {expected!r}"


def run(module):
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        name = test.__doc__.strip().splitlines()[0]
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed = 1
            print(f"not ok {number} - {name}", flush=True)
            # prove shows only what is on stderr.
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()),
                  file=sys.stderr, flush=True)
    sys.exit(failed)

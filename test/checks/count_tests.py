"""Reads the log that `meson test` leaves, one JSON object per test and line.

Usage: count_tests.py LOG             prints "PASSED FAILED SKIPPED"
       count_tests.py --failures LOG  prints the name and result of each test that failed

A missing log is no test: "0 0 0".
"""

import json
import pathlib
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP"}


def read(path):
    log = pathlib.Path(path)
    lines = log.read_text().splitlines() if log.exists() else []
    # The name as meson prints it is "PROJECT:SUITE / NAME".
    return [(test["name"].split(" / ")[-1], test["result"]) for test in map(json.loads, lines)]


def main(arguments):
    tests = read(arguments[-1])
    failed = [t for t in tests if t[1] not in PASSED | SKIPPED]
    if arguments[0] == "--failures":
        for name, result in failed:
            print(f"{name} ({result})")
        return
    passed = sum(1 for t in tests if t[1] in PASSED)
    print(passed, len(failed), len(tests) - passed - len(failed))


main(sys.argv[1:])

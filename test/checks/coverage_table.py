"""Prints a summary that gcovr --json-summary wrote as a table, and judges it.

Usage: coverage_table.py FILE MIN_LINES MIN_BRANCHES DIRECTORY...   percent; exit 1, and one line for
each, if a directory, or all together, lie below; exit 1 too if a directory has no file in the summary
"""

import json
import sys

KINDS = {"line": "lines", "branch": "branches"}


def add(rows):
    return {f"{kind}_{what}": sum(row[f"{kind}_{what}"] for row in rows)
            for kind in KINDS for what in ("covered", "total")}


def percent(row, kind):
    total = row[f"{kind}_total"]
    return 100.0 * row[f"{kind}_covered"] / total if total else 100.0


def show(name, row):
    cells = "".join(f"{row[kind + '_covered']:6d}/{row[kind + '_total']:<5d}{percent(row, kind):6.1f} %"
                    for kind in KINDS)
    print(f"{name:34s}{cells}")


def main(path, min_lines, min_branches, *directories):
    bounds = {"line": float(min_lines), "branch": float(min_branches)}
    with open(path, encoding="utf-8") as file:
        files = {f["filename"]: f for f in json.load(file)["files"]}
    problems = []

    def judge(name, row):
        for kind, bound in bounds.items():
            if percent(row, kind) < bound:
                problems.append(f"{name}: {percent(row, kind):.1f} % of {KINDS[kind]}, below {bound:g} %")

    print(f"{'':34s}{'lines':>19s}{'branches':>20s}")
    counted = []
    for directory in directories:
        own = {n: f for n, f in sorted(files.items()) if n.startswith(directory + "/")}
        if not own:
            problems.append(f"{directory}: no file was measured")
            continue
        for name, row in own.items():
            show("  " + name, row)
        total = add(own.values())
        show(directory, total)
        before = len(problems)
        judge(directory, total)
        if len(problems) > before:
            for name, row in own.items():
                judge("  " + name, row)
        counted += own.values()
    show("total", add(counted))
    judge("total", add(counted))
    sys.stdout.flush()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))

"""One self-contained page of what mrc-sim wrote: per scenario its expectations, plots and metrics.

Usage: python3 scripts/sim_report [--note TEXT] [--failed LOG]... -o PAGE JSON...

JSON: files of `mrc-sim --json`. LOG: what a scenario printed that left no JSON; the file's name is
the scenario's. Exit status 2, and one line that says where: a file that is not such JSON.
"""

import argparse
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is

import page
import results


def labels_of(files):
    """Each file's name within the folder that all lie in, without its ending."""
    folder = os.path.commonpath([file.resolve().parent for file in files])
    return [file.resolve().relative_to(folder).with_suffix("").as_posix() for file in files]


def make(options):
    entries, failed = [], []
    files = options.json + options.failed
    for label, file in zip(labels_of(files), files):
        slug = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
        if file in options.failed:
            log = file.read_text(encoding="utf-8", errors="replace")[-4000:]
            failed.append((label, f"f{len(failed)}-{slug}", log))
            continue
        folder = label.rpartition("/")[0]
        for scenario in results.load(file):
            name = f"{folder}/{scenario['scenario']}" if folder else scenario["scenario"]
            entries.append((name, f"s{len(entries)}-{slug}", scenario))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(page.page(entries, failed, options.note), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(prog="sim_report",
                                     description="A page of what mrc-sim wrote.")
    parser.add_argument("json", nargs="*", type=pathlib.Path, help="files of mrc-sim --json")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--failed", action="append", default=[], type=pathlib.Path, metavar="LOG",
                        help="output of a scenario that left no JSON")
    parser.add_argument("--note", default="", help="a sentence below the title")
    options = parser.parse_args()
    if not options.json and not options.failed:
        parser.error("no file given")
    try:
        make(options)
    except (results.Malformed, OSError) as error:
        print(f"sim_report: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

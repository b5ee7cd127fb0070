#!/usr/bin/env python3
"""What the hot path does not do per packet: allocate, lock, log, call the system, divide.

Two runs that differ only in the number of 64-byte writes are compared, so that setting up and what
happens by the clock count for nothing: by callgrind which functions were called, by strace how often
the system was, and in the code of what is called once per write or more there is no division. Both
ends run in one process (write_cost), over net_ring and over net_memif.

  hot_path_test.py WRITE_COST CONFIG_FOLDER LIBRARY
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import nodes

FEW, MANY = 6400, 25600
WRITES = MANY - FEW
# Of these none per write. What time brings stays (a port's state is looked at, threads wake): one per
# hundred writes on a machine at rest, up to four on a busy one, where callgrind's runs last longer.
ALLOWED_CALLS = 0.1
ALLOWED_SYSTEM_CALLS = 0.05
FORBIDDEN = {
    "allocation": r"malloc|calloc|realloc|free|operator new.*|operator delete.*|_int_malloc|_int_free",
    "lock": r"pthread_(mutex|rwlock|spin|cond)_.*lock.*|__pthread_mutex_lock.*|__lll_lock_wait.*",
    "log": r"spdlog::.*|softmrc::logger.*|fmt::.*|v?f?printf",
}
# Divisions that stay, and why.
DIVIDES = {
    "softmrc::transport::ReceiveShares::note": "once per QP and period of an RTT, not per packet",
}


def memif_nodes(config, folder):
    """The two ends of config/memif-*.yaml in one process: their drivers' names must differ."""
    other_names = {"a": "net_memif{port}", "b": "net_memif1{port}"}
    return [nodes.with_nscc(os.path.join(config, f"memif-{side}.yaml"), folder,
                            lambda text, name=name: text.replace("net_memif{port}", name))
            for side, name in other_names.items()]


def run(command, folder):
    result = subprocess.run(command, env=dict(os.environ, TMPDIR=folder), capture_output=True,
                            text=True, timeout=300, check=False)
    if result.returncode != 0:
        sys.exit(f"FAILED: {' '.join(command)}:\n{result.stdout}{result.stderr}"[-4000:])
    return result


def calls(command, folder):
    """How often each function was called, by name."""
    out = os.path.join(folder, "callgrind.out")
    run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command], folder)
    names, counts, callee = {}, collections.Counter(), None
    with open(out, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = re.match(r"c?fn=\((\d+)\)(?: (.*))?", line)
            if match:
                if match[2]:
                    names[match[1]] = match[2].strip()
                if line.startswith("cfn="):
                    callee = names[match[1]]
            elif line.startswith("calls="):
                counts[callee] += int(line[6:].split()[0])
    return counts


def system_calls(command, folder):
    out = os.path.join(folder, "strace.out")
    run(["strace", "-f", "-c", "-o", out, *command], folder)
    with open(out, encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return collections.Counter({row[-1]: int(row[3]) for row in rows
                                if len(row) >= 5 and row[3].isdigit() and row[-1] != "total"})


def dividing(library, functions):
    """Those of `functions` whose code divides integers."""
    output = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", library], check=True,
                            capture_output=True, text=True, timeout=120).stdout
    found, current = set(), None
    for line in output.splitlines():
        match = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if match:
            current = match[1]
        elif re.search(r"\ti?div[bwlq]?\s", line) and current in functions:
            found.add(current)
    return found


def without_clones(name):
    """callgrind's and objdump's names of one function: no recursion level, no compiler's suffix."""
    return re.sub(r"('\d+| \[clone .*\])$", "", name)


def main():
    program, config, library = sys.argv[1:4]
    for tool in ("valgrind", "strace", "objdump"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed")
            return 77
    failures, hot = [], set()
    for port in ("net_ring", "net_memif"):
        with tempfile.TemporaryDirectory() as folder:
            files = ([os.path.join(config, f"loopback-nscc-{side}.yaml") for side in "ab"]
                     if port == "net_ring" else memif_nodes(config, folder))
            few, many = ([program, *files, "64", str(count)] for count in (FEW, MANY))

            more = calls(many, folder)
            more.subtract(calls(few, folder))
            per_write = {name: count / WRITES for name, count in more.items()}
            sends = [value for name, value in per_write.items() if "::post_one_send" in name]
            if not any(0.9 < value < 1.1 for value in sends):
                failures.append(f"{port}: posting is not seen once per write: {sends}")
            for what, pattern in FORBIDDEN.items():
                bad = {name: value for name, value in per_write.items()
                       if value > ALLOWED_CALLS and re.fullmatch(pattern, without_clones(name))}
                print(f"{port}: {what}: {bad or 'none'}")
                failures += [f"{port}: {what}: {name} {value:.3f} times per write"
                             for name, value in bad.items()]
            hot |= {without_clones(name) for name, value in per_write.items() if value > 0.9}

            system = system_calls(many, folder)
            system.subtract(system_calls(few, folder))
            rate = sum(system.values()) / WRITES
            most = ", ".join(f"{name} {count}" for name, count in system.most_common(3))
            print(f"{port}: system calls per write: {rate:.4f} ({most} in {WRITES} writes)")
            if rate > ALLOWED_SYSTEM_CALLS:
                failures.append(f"{port}: {rate:.3f} system calls per write: {most}")
    divide = {name for name in dividing(library, hot) if name.split("(")[0] not in DIVIDES}
    print(f"division in {len(hot)} functions called once per write or more: {sorted(divide) or 'none'}")
    failures += [f"{name} divides" for name in sorted(divide)]
    for failure in failures:
        print("FAILED:", failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

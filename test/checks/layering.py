"""The layering rule of doc/architecture.md, as tables: which layer may include which, and what the
core (wire, path, cc, transport) may not touch at all, since it runs unchanged on DPDK workers, in
simulated time, under fuzzers and in tests.

Usage: layering.py               checks the tree, exit 1 and one line per violation
       layering.py --self-test   checks that each kind of violation is found
"""

import pathlib
import re
import sys

# An arrow goes down only.
MAY_INCLUDE = {
    "base": set(),
    "wire": {"base"},
    "config": {"base", "wire"},
    "path": {"base", "wire", "config"},
    "cc": {"base", "wire"},
    "transport": {"base", "wire", "path", "cc"},
    "telemetry": {"base", "wire", "path", "transport"},
    "control": {"base", "wire", "config", "path", "cc", "telemetry"},
    "sim": {"base", "wire", "config", "path", "cc", "transport"},
    "dataplane": {"base", "wire", "config", "path", "cc", "transport", "telemetry"},
    "verbs": {"base", "wire", "config", "path", "cc", "transport", "telemetry",
              "dataplane", "control"},
}
# The public headers (include/) belong to the layer that serves them.
PUBLIC = {"mrc.h", "mrc_ctl.h", "mrc_api_ver.h", "mrc_ctl_api_ver.h"}
MAY_INCLUDE_PUBLIC = {"verbs", "control"}
CORE = {"wire", "path", "cc", "transport"}
# Includes the core may not have, by what they would bring.
CORE_FORBIDDEN_INCLUDES = {
    "DPDK": r"rte_.*",
    "sockets": r"sys/socket\.h|netinet/.*|netdb\.h|net/.*|linux/.*",
    "system calls": r"unistd\.h|fcntl\.h|poll\.h|sys/(epoll|eventfd|mman|ioctl|un)\.h",
    "a clock": r"ctime|time\.h|sys/time(rb)?\.h",
    "a random source": r"random|sys/random\.h",
    "threads": r"thread|mutex|shared_mutex|condition_variable|future|semaphore|pthread\.h|urcu.*",
    "logging or streams": r"spdlog/.*|iostream|fstream|ostream|istream|syslog\.h",
    "a parser of files": r"yaml-cpp/.*|nlohmann/.*|CLI/.*|filesystem",
}
# The same brought in by name, where a permitted header declares it too.
CORE_FORBIDDEN_NAMES = {
    "a clock": r"\b(clock_gettime|gettimeofday|rdtsc\w*|steady_clock|system_clock|"
    r"high_resolution_clock)\b",
    "a random source": r"\b(random_device|mt19937(_64)?|s?rand|drand48|getrandom)\b",
    "logging or streams": r"\b(std::(cout|cerr|clog)|printf|fprintf|puts|perror)\b",
    "the environment": r"\b(getenv|setenv)\b",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def without_comments(line):
    return re.sub(r"//.*$", "", line)


def check_line(layer, line):
    """Violations in one line of a file of a layer."""
    found = []
    include = INCLUDE.match(line)
    if include:
        quoted, target = include.group(1) == '"', include.group(2)
        to = target.split("/")[0]
        if target in PUBLIC:
            if layer not in MAY_INCLUDE_PUBLIC:
                found.append(f"{layer} may not include the public header {target}")
        elif quoted and "/" not in target:
            found.append(f'"{target}" is not written relative to lib/')
        elif quoted and to not in MAY_INCLUDE:
            found.append(f'"{target}" belongs to no layer')
        elif quoted and to != layer and to not in MAY_INCLUDE[layer]:
            found.append(f"{layer} may not include {to}")
        if layer in CORE and not quoted:
            for what, pattern in CORE_FORBIDDEN_INCLUDES.items():
                if re.fullmatch(pattern, target):
                    found.append(f"the core may not use {what}: <{target}>")
        return found
    if layer in CORE:
        code = without_comments(line)
        for what, pattern in CORE_FORBIDDEN_NAMES.items():
            name = re.search(pattern, code)
            if name:
                found.append(f"the core may not use {what}: {name.group(0)}")
    return found


def check_tree(root):
    lib = root / "lib"
    found = [f"lib/{d.name}: a layer without a row in the table"
             for d in sorted(lib.iterdir()) if d.is_dir() and d.name not in MAY_INCLUDE]
    for layer in MAY_INCLUDE:
        for path in sorted((lib / layer).rglob("*")):
            if path.suffix not in {".h", ".cc", ".c", ".inc"}:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found += [f"{path.relative_to(root)}:{number}: {violation}"
                          for violation in check_line(layer, line)]
    return found


def self_test():
    bad = [
        ("wire", '#include "transport/core.h"'),
        ("path", '#include "cc/controller.h"'),
        ("transport", '#include "dataplane/node.h"'),
        ("transport", '#include "core.h"'),
        ("dataplane", "#include <mrc.h>"),
        ("verbs", '#include "drivers/libmrc/context.h"'),
        ("wire", "#include <rte_mbuf.h>"),
        ("cc", "#include <iostream>"),
        ("transport", "#include <sys/socket.h>"),
        ("transport", "#include <random>"),
        ("transport", "  auto now = std::chrono::steady_clock::now();"),
        ("path", "  std::mt19937 generator(7);"),
        ("transport", '  printf("%d", psn);'),
    ]
    good = [
        ("transport", '#include "wire/packet.h"'),
        ("transport", "#include <chrono>"),
        ("verbs", '#include "mrc.h"'),
        ("dataplane", "#include <rte_mbuf.h>"),
        ("transport", "// steady_clock is never read here"),
        ("cc", "  random_.below(8);"),
        ("wire", '  std::snprintf(text, sizeof text, "%u", value);'),
    ]
    wrong = [f"missed: {layer}: {line}" for layer, line in bad if not check_line(layer, line)]
    wrong += [f"false alarm: {layer}: {line}" for layer, line in good if check_line(layer, line)]
    return wrong


root = pathlib.Path(__file__).resolve().parents[2]
problems = self_test() if sys.argv[1:] == ["--self-test"] else check_tree(root)
print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)

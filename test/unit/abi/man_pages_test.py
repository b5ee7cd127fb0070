#!/usr/bin/env python3
"""Holds the man pages of libmrc against its version script and its headers: every exported name has a
page, every prototype in a SYNOPSIS is the header's, references lead somewhere, examples compile, and
groff has no warning about any page of the tree.

Usage: man_pages_test.py SOURCE_DIRECTORY    CC: the C compiler
Exit 1 and one line per problem. Each kind of problem is put into a copy of the pages first, and has to
be found there.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

GROFF = ["groff", "-t", "-man", "-rLL=200n"]
LINK = re.compile(r"\.so man3/(\w+)\.3\n")
REFERENCE = re.compile(r"\b(mrc[\w-]*) ?\(([137])\)")
PROTOTYPE = re.compile(r"(?:int|void|struct \w+\s*\*)\s*(mrc_\w+)\s*\([^;]*\)\s*;")
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "SEE ALSO"]
EXAMPLE_HEADERS = ["arpa/inet.h", "errno.h", "mrc.h", "mrc_ctl.h", "poll.h", "stdio.h", "string.h"]


def run(command, text):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@functools.cache
def render(text):
    """The page as plain text, and what groff warns of."""
    plain = run([*GROFF, "-Tascii", "-P-cbou"], text).stdout
    return plain, run([*GROFF, "-Tutf8", "-ww", "-z"], text).stderr


@functools.cache
def compile_examples(text, include):
    blocks = re.findall(r"^\.EX\n(.*?)^\.EE$", text, re.MULTILINE | re.DOTALL)
    code = "".join(f"#include <{header}>\n" for header in EXAMPLE_HEADERS)
    code += "\n".join(blocks).replace(r"\-", "-").replace(r"\e", "\\")
    command = [*os.environ.get("CC", "cc").split(), "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra",
               "-Werror", "-fsyntax-only", "-I", include, "-x", "c", "-"]
    return run(command, code).stderr if blocks else ""


def sections(plain):
    parts = re.split(r"^([A-Z][A-Z ]*)$", plain, flags=re.MULTILINE)
    return {title.strip(): body for title, body in zip(parts[1::2], parts[2::2])}


def normal(prototype):
    return re.sub(r"\s*([*(),;])\s*", r"\1", " ".join(prototype.split()))


def prototypes(text):
    return {match.group(1): normal(match.group(0)) for match in PROTOTYPE.finditer(text)}


def declared(header):
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
    return prototypes(re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE))


def check_page(path, headers, include, others):
    """Problems of a page, and the names that it is about."""
    text = path.read_text()
    plain, warnings = render(text)
    found = sections(plain)
    problems = [f"groff: {line}" for line in warnings.splitlines()]
    names = []
    if path.suffix == ".3":
        problems += [f"no section {title}" for title in SECTIONS if title not in found]
        synopsis = found.get("SYNOPSIS", "")
        names = re.findall(r"mrc_\w+", found.get("NAME", "").split(" - ")[0])
        given = prototypes(synopsis)
        if sorted(given) != sorted(names):
            problems.append(f"NAME has {names}, SYNOPSIS {list(given)}")
        for header, functions in headers.items():
            for name in given.keys() & functions.keys():
                if given[name] != functions[name]:
                    problems.append(f"SYNOPSIS: {given[name]} is {functions[name]} in {header}")
                if f"#include <{header}>" not in synopsis:
                    problems.append(f"SYNOPSIS: {name} without <{header}>")
        if any(not prototype.startswith("void") for prototype in given.values()) and \
                "ERRORS" not in found:
            problems.append("no section ERRORS")
    problems += [f"no page {name}({section})" for name, section in REFERENCE.findall(plain)
                 if f"{name}.{section}" not in others]
    problems += [f"example: {line}" for line in compile_examples(text, include).splitlines()[:5]]
    return problems, names


def check(man, source):
    exported = set(re.findall(r"\bmrc_\w+(?=;)",
                              (source / "drivers/libmrc/libmrc.map").read_text()))
    headers = {name: declared(source / "include" / name) for name in ("mrc.h", "mrc_ctl.h")}
    pages = sorted([*man.glob("man[37]/*"), *(source / "apps").glob("*/*.1")])
    others = {path.name for path in pages}
    problems, about = [], {}
    for path in pages:
        if LINK.fullmatch(path.read_text()):
            continue
        wrong, names = check_page(path, headers, str(source / "include"), others)
        about[path.stem] = names
        problems += [f"{path.name}: {what}" for what in wrong]
    for path in man.glob("man3/*"):
        link = LINK.fullmatch(path.read_text())
        if path.stem not in about.get(link.group(1) if link else path.stem, []):
            problems.append(f"{path.name}: leads to no page about {path.stem}")
        if path.stem not in exported:
            problems.append(f"{path.name}: the library exports no such name")
    problems += [f"{name}: has no man page" for name in exported if f"{name}.3" not in others]
    problems += [f"{name}: is in no header" for name in exported
                 if not any(name in functions for functions in headers.values())]
    return problems


# File, text in it, what it becomes (None: the file goes), and what has to be said of that.
BROKEN = [
    ("man3/mrc_post_send.3", "", None, "mrc_post_send: has no man page"),
    ("man3/mrc_destroy_cq.3", "", None, "mrc_destroy_cq: has no man page"),
    ("man3/mrc_destroy_cq.3", "mrc_create_cq", "mrc_create_qp", "leads to no page about mrc_destroy_cq"),
    ("man3/mrc_poll_cq.3", "struct ibv_wc* ", "struct ibv_wc ", "mrc_poll_cq.3: SYNOPSIS: int"),
    ("man3/mrc_poll_cq.3", ", int \" num_entries", ", int \" entries", "mrc_poll_cq.3: SYNOPSIS: int"),
    ("man3/mrc_create_cq.3", "#include <mrc.h>", "#include <x.h>", "mrc_create_cq without <mrc.h>"),
    ("man3/mrc_create_cq.3", ", mrc_destroy_cq \\-", " \\-", "mrc_create_cq.3: NAME has"),
    ("man3/mrc_create_cq.3", ".SH ERRORS", ".SH OTHER", "mrc_create_cq.3: no section ERRORS"),
    ("man3/mrc_create_cq.3", ".BR mrc_poll_cq (3)", ".BR mrc_pol_cq (3)", "no page mrc_pol_cq(3)"),
    ("man3/mrc_create_cq.3", ".TP\n.I cqe", ".TQP\n.I cqe", "mrc_create_cq.3: groff: "),
    ("man3/mrc_poll_cq.3", "wc[i].wr_id", "wc[i].id", "mrc_poll_cq.3: example: "),
]


def missed(source):
    with tempfile.TemporaryDirectory() as work:
        for number, (name, old, new, expected) in enumerate(BROKEN):
            man = pathlib.Path(work) / str(number)
            shutil.copytree(source / "drivers/libmrc/man", man)
            text = (man / name).read_text()
            if new is None:
                (man / name).unlink()
            else:
                (man / name).write_text(text.replace(old, new, 1))
            if old not in text or not any(expected in problem for problem in check(man, source)):
                yield f"self-test: {name}, {old!r} made {new!r}: not found: {expected}"


root = pathlib.Path(sys.argv[1])
if not shutil.which("groff"):
    sys.exit("groff is not installed (scripts/packages.txt)")
found = [*missed(root), *check(root / "drivers/libmrc/man", root)]
print("\n".join(found) or "all as expected")
sys.exit(1 if found else 0)

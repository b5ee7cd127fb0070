"""What no file of the tree may hold: paths of one person's machine, addresses other than of public
references, unfinished work, test back doors; and what each source file must have: an opening comment
that says what it is for (x.cc may leave that to x.h).

Usage: hygiene.py               checks the tracked files, exit 1 and one line per violation
       hygiene.py --self-test   checks that each kind of violation is found
"""

import pathlib
import re
import subprocess
import sys

# Written with a class of one letter, so that this file does not match itself.
FORBIDDEN = {
    "a path of one machine": r"(^|[\s\"'`(=:])/(wor[k]|home/\w+|root|Users/\w+|mnt/\w+)/",
    "a version control conflict": r"^(<{7}|>{7}) ",
    "unfinished work": r"\b(TO[D]O|FIXM[E]|XX[X]|HAC[K])\b",
    "private members opened for tests": r"#\s*define\s+privat[e]\b|\bfriend\s+(class|struct)\s+\w*Tes[t]\b",
    "a library function that cannot be used safely": r"\b(strcp[y]|strca[t]|sprint[f]|get[s])\s*\(",
}
# Where a link may lead: references, not places things are fetched from.
LINKS = {"www.rfc-editor.org", "datatracker.ietf.org", "arxiv.org", "www.opencompute.org",
         "github.com", "doc.dpdk.org", "ultraethernet.org", "opensource.org",
         "www.w3.org"}  # the name of SVG's namespace
LINK = re.compile(r"https?://([\w.-]+)")
COMMENT = {".h": ("//", "/*"), ".c": ("//", "/*"), ".cc": ("//", "/*"), ".py": ('"""', "#"),
           ".sh": ("#",), ".yaml": ("#",), ".map": ("/*", "#"), ".inc": ("//", "/*")}
BINARY = {".bin", ".pcap", ".pcapng", ".png"}


def check_text(name, text, has_header=False):
    found = []
    suffix = pathlib.Path(name).suffix
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        found += [f"{where}: {what}: {match.group(0).strip()}"
                  for what, pattern in FORBIDDEN.items() if (match := re.search(pattern, line))]
        found += [f"{where}: link to {host}" for host in LINK.findall(line) if host not in LINKS]
        if line != line.rstrip() and suffix != ".md":
            found.append(f"{where}: white space at the end of the line")
    if text and not text.endswith("\n"):
        found.append(f"{name}: no newline at the end")
    if suffix in COMMENT and not has_header:
        first = [line for line in lines if not line.startswith("#!")][:1]
        if not first or not first[0].startswith(COMMENT[suffix]):
            found.append(f"{name}: does not open with a comment that says what it is for")
    return found


def check_tree(root):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True,
                           text=True).stdout.split("\0")
    found = []
    for name in filter(None, names):
        path = root / name
        if path.suffix in BINARY or "/corpus/" in name or not path.is_file():
            continue
        try:
            has_header = path.suffix == ".cc" and path.with_suffix(".h").exists()
            found += check_text(name, path.read_text(), has_header)
        except UnicodeDecodeError:
            found.append(f"{name}: is not UTF-8 text")
    return found


def self_test():
    bad = [
        ("a.md", "see /wor" + "k/main\n"), ("a.md", "cd '/home/" + "me/tree'\n"),
        ("a.cc", "// x\n// TO" + "DO later\n"), ("a.h", "// x\n#define privat" + "e public\n"),
        ("a.h", "// x\nfriend class CoreTes" + "t;\n"), ("a.c", "// x\nstrcp" + "y(a, b);\n"),
        ("a.md", "<" * 7 + " HEAD\n"), ("a.sh", "#!/bin/sh\nset -e\n"), ("a.cc", "#include <x>\n"),
        ("a.cc", "// x\nint y; \n"), ("a.md", "no newline"), ("a.txt", "http" + "://example.net/\n"),
    ]
    good = [
        ("a.md", "run `ls /usr/share/` and /work-alikes, https://arxiv.org/abs/1\n"),
        ("a.cc", "// What it is for.\nsnprintf(a, 1, b);\nfgets(a, 1, f);\n"),
        ("a.sh", "#!/bin/sh\n# What it is for.\n"), ("a.py", '"""What it is for."""\n'),
    ]
    return ([f"missed: {name}: {text!r}" for name, text in bad if not check_text(name, text)] +
            [f"false alarm: {v}" for name, text in good for v in check_text(name, text)])


root = pathlib.Path(__file__).resolve().parents[2]
problems = self_test() if sys.argv[1:] == ["--self-test"] else check_tree(root)
print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)

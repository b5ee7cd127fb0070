"""Each C block of doc/tutorial.md stands in doc/examples/write_imm.c, line by line.

Usage: tutorial.py               checks the tree, exit 1 and one line per violation
       tutorial.py --self-test   checks that each kind of violation is found
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```c\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def check(text, program):
    blocks = BLOCK.findall(text)
    lines = "\n" + program
    return ([f"no such lines in the program: {block!r}" for block in blocks
             if "\n" + block not in lines] +
            ([] if blocks else ["no C block"]))


def self_test():
    program = "int a;\nint b;\nint c;\n"
    bad = ["no block\n", "```c\nint d;\n```\n", "```c\nint a;\nint c;\n```\n",
           "```c\nt b;\n```\n", "```c\nint b;\n\n```\n", "```c\nint a;\n```\n```c\nint  b;\n```\n"]
    good = ["```c\nint a;\nint b;\n```\n", "x\n```\nshell\n```\n```c\nint c;\n```\n"]
    return ([f"missed: {text!r}" for text in bad if not check(text, program)] +
            [f"false alarm: {v}" for text in good for v in check(text, program)])


root = pathlib.Path(__file__).resolve().parents[2]
problems = self_test() if sys.argv[1:] == ["--self-test"] else check(
    (root / "doc/tutorial.md").read_text(), (root / "doc/examples/write_imm.c").read_text())
print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)

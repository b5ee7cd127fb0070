"""Node files of config/, changed for a measurement."""

import os


def with_nscc(file, folder, change=lambda text: text):
    """A copy in `folder` of a node file with a fixed window: with NSCC instead, and what else is to
    change. Returns where it is."""
    with open(file, encoding="utf-8") as source:
        text = source.read().replace("transport:\n", "transport:\n  congestion_control: nscc\n", 1)
    copy = os.path.join(folder, os.path.basename(file))
    with open(copy, "w", encoding="utf-8") as target:
        target.write(change(text))
    return copy

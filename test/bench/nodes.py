"""Node files of config/, changed for a measurement."""

import os
import re


def with_nscc(file, folder, change=lambda text: text):
    """A copy in `folder` of a node file with a fixed window: with NSCC instead, and what else is to
    change. Returns where it is."""
    with open(file, encoding="utf-8") as source:
        text = source.read().replace("transport:\n", "transport:\n  congestion_control: nscc\n", 1)
    copy = os.path.join(folder, os.path.basename(file))
    with open(copy, "w", encoding="utf-8") as target:
        target.write(change(text))
    return copy


def zero_copy_client(text):
    """A memif client maps the buffers of its mbufs instead of copying; a server is as it was."""
    return text.replace("role=client,", "role=client,zero-copy=yes,")


# The largest frame that the driver takes over veth, with its path MTU, and the driver's arguments. An
# XDP program wants each frame in one page.
VETH_DRIVERS = {
    "net_af_packet": (9000, 4096, ",blocksz=36864,framesz=9216,framecnt=1024"),
    "net_af_xdp": (3000, 2048, ""),
}


def over_veth(driver):
    """What makes a node file of four memif planes one of four interfaces, p1 to p4."""
    mtu, path_mtu, arguments = VETH_DRIVERS[driver]

    def change(text):
        for pattern, value in ((r"^  device: .*", f'  device: "{driver}{{port}},iface=p{{port}}{arguments}"'),
                               (r"^mtu: \d+", f"mtu: {mtu}"),
                               (r"^  path_mtu: \d+", f"  path_mtu: {path_mtu}")):
            text, found = re.subn(pattern, value, text, flags=re.MULTILINE)
            assert found == 1, pattern
        return text
    return change

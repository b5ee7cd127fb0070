"""Network namespaces joined by veth pairs, for ports of the kernel."""

import contextlib
import os
import subprocess


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, timeout=20)


@contextlib.contextmanager
def namespaces(count):
    """The names of that many namespaces, which live as long as the context."""
    names = [f"bench{os.getpid()}{letter}" for letter in "abcdefgh"[:count]]
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, timeout=20,
                           stderr=subprocess.DEVNULL)


NEAR, FAR = "10.9.8.1", "10.9.8.2"


def join(near, far):
    """The kernel's own link between two namespaces, with the addresses NEAR and FAR."""
    ip("link", "add", "veth", "netns", near, "type", "veth", "peer", "name", "veth", "netns", far)
    for name, address in ((near, NEAR), (far, FAR)):
        ip("-n", name, "address", "add", f"{address}/24", "dev", "veth")
        ip("-n", name, "link", "set", "veth", "mtu", "9000", "up")


@contextlib.contextmanager
def planes(count, mtu):
    """Two joined namespaces with a veth pair per plane, p1 to p1 and so on. The kernel sends nothing of
    its own on those. Not one namespace: net_af_packet's fanout groups of two processes may collide."""
    with namespaces(2) as ends:
        join(*ends)
        for plane in (f"p{number}" for number in range(1, count + 1)):
            ip("link", "add", plane, "netns", ends[0], "type", "veth", "peer", "name", plane, "netns",
               ends[1])
            for end in ends:
                subprocess.run(["ip", "netns", "exec", end, "sysctl", "-qw",
                                f"net.ipv6.conf.{plane}.disable_ipv6=1"], check=True, timeout=20)
                ip("-n", end, "link", "set", plane, "mtu", str(mtu), "up")
        yield ends

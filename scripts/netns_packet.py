"""One IPv6-in-IPv6 packet through the fabric that scripts/netns-srv6.sh builds, without MRC.

Usage: netns_packet.py send PORT GATEWAY_MAC DESTINATION
       netns_packet.py receive PORT DESTINATION READY_FILE

The receiver makes READY_FILE once it listens and exits 0 when a packet with that outer destination,
and the inner packet as sent, arrives within 30 seconds, time for a machine that is busy.
"""

import pathlib
import socket
import struct
import sys
import time

ETHERTYPE_IPV6 = 0x86DD
IPV6_IN_IPV6 = 41
SOURCE, NO_NEXT_HEADER = "2001:db8::1", 59
PAYLOAD = bytes(range(256)) * 16  # a frame beyond 4 KiB, as MRC sends them


def ipv6(destination, next_header, payload):
    # Version 6, DSCP 4, ECT(0), flow label 0xbeef, hop limit 64.
    return (struct.pack("!IHBB", 6 << 28 | (4 << 2 | 2) << 20 | 0xBEEF, len(payload), next_header, 64) +
            socket.inet_pton(socket.AF_INET6, SOURCE) +
            socket.inet_pton(socket.AF_INET6, destination) + payload)


INNER = ipv6("2001:db8::2", NO_NEXT_HEADER, PAYLOAD)


def send(port, gateway, destination):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((port, 0))
    source = link.getsockname()[4]
    link.send(bytes.fromhex(gateway.replace(":", "")) + source + struct.pack("!H", ETHERTYPE_IPV6) +
              ipv6(destination, IPV6_IN_IPV6, INNER))


def receive(port, destination, ready):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETHERTYPE_IPV6))
    link.bind((port, ETHERTYPE_IPV6))
    pathlib.Path(ready).touch()
    end = time.monotonic() + 30
    wanted = socket.inet_pton(socket.AF_INET6, destination)
    while (left := end - time.monotonic()) > 0:
        link.settimeout(left)
        try:
            packet = link.recv(65536)
        except TimeoutError:
            break
        if packet[6] == IPV6_IN_IPV6 and packet[24:40] == wanted and packet[40:] == INNER:
            return 0
    return 1


command, arguments = sys.argv[1], sys.argv[2:]
sys.exit(send(*arguments) if command == "send" else receive(*arguments))

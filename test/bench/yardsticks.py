"""What softmrc is measured beside: each function runs one yardstick once and returns its figure."""

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import tempfile
import time


def stop(process):
    """Ends a process that this script started."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def running(command, head_start, patience=0, **options):
    """A server that this script starts: given `head_start` seconds before what needs it begins, and
    `patience` to end by itself when that is over. It is stopped in any case."""
    process = subprocess.Popen(command, **options)
    try:
        time.sleep(head_start)
        yield process
        if patience:
            process.wait(timeout=patience)
    finally:
        stop(process)


def crc_copy(program, packet):
    """GB/s of one core that takes the CRC of each packet's bytes and copies them, by region."""
    output = subprocess.run([program, str(packet), "3"], check=True, capture_output=True,
                            text=True, timeout=120).stdout
    return json.loads(output)


def instructions(program, root):
    """Instructions per 64-byte write, both ends together, and whether those are too many."""
    test = subprocess.run(
        [os.path.join(root, "test/bench/instructions_test.sh")],
        env=dict(os.environ, WRITE_COST=program, CONFIG=os.path.join(root, "config")),
        check=False, capture_output=True, text=True, timeout=300)
    return int(test.stdout.split()[0]), test.returncode != 0


def testpmd(frame, seconds):
    """Million frames per second from testpmd txonly to testpmd rxonly over one memif port."""
    # Now and then its two ends do not come together; that is no measurement.
    for _ in range(3):
        rates, output = testpmd_once(frame, seconds)
        if rates:
            return statistics.median(rates) / 1e6
        print("  testpmd received nothing; again", flush=True)
    raise RuntimeError("testpmd received nothing, three times:\n" + output[-2000:])


def testpmd_once(frame, seconds):
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "memif.sock")
        common = ["--no-huge", "--no-shconf", "-m", "1024", "--no-pci", "--single-file-segments"]
        ports = f"id=0,socket={socket},socket-abstract=no,rsize=10,bsize=4608"
        tail = ["--total-num-mbufs=16384", "--mbuf-size=4736", "--stats-period=1",
                "--no-lsc-interrupt"]
        receiver = subprocess.Popen(
            ["dpdk-testpmd", "--lcores", "0@0,1@0", *common,
             "--vdev", f"net_memif0,role=server,{ports}", "--", *tail, "--forward-mode=rxonly"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(1.5)
        sender = subprocess.Popen(
            ["dpdk-testpmd", "--lcores", "0@1,1@1", *common,
             "--vdev", f"net_memif0,role=client,{ports}", "--", *tail,
             "--forward-mode=txonly", f"--txpkts={frame}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds + 3)
        # The sender first: a memif peer that dies under traffic can take the survivor along.
        stop(sender)
        time.sleep(0.5)
        receiver.send_signal(signal.SIGINT)
        output, _ = receiver.communicate(timeout=20)
    rates = [int(rate) for rate in re.findall(r"Rx-pps:\s+(\d+)", output)]
    return [rate for rate in rates if rate > 0], output


def memif_ping(program, frame):
    """Half a round trip of a raw frame over memif, in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [os.path.join(folder, "memif.sock"), str(frame), "50000"]
        with running([program, "server", *arguments], 0.7, patience=10):
            output = subprocess.run([program, "client", *arguments], check=True, timeout=60,
                                    capture_output=True, text=True).stdout
    return float(output)


# The best settings of UCX over TCP, found by trying.
UCX = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo", "UCX_TCP_TX_SEG_SIZE": "256k",
       "UCX_TCP_RX_SEG_SIZE": "256k"}


def ucx(test, size, iterations, port):
    """The last line of ucx_perftest, one end per core: its columns of numbers."""
    command = ["ucx_perftest", "-p", str(port)]
    environment = dict(os.environ, **UCX)
    with running(["taskset", "-c", "0", *command], 1, env=environment,
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        output = subprocess.run(
            ["taskset", "-c", "1", *command, "127.0.0.1", "-t", test, "-s", str(size), "-n",
             str(iterations), "-w", str(iterations // 10)],
            env=environment, check=True, capture_output=True, text=True, timeout=120).stdout
    final = [line for line in output.splitlines() if line.startswith("Final:")]
    return [float(word) for word in final[-1].split()[1:]]


def ucx_bandwidth(size, port):
    """Gb/s of UCX puts over TCP."""
    megabytes_overall = ucx("ucp_put_bw", size, max(2000, (4 << 30) // size // 4), port)[5]
    return megabytes_overall * (1 << 20) * 8 / 1e9


def ucx_latency(size, port):
    """Half a round trip of UCX puts over TCP, median, in microseconds."""
    return ucx("ucp_put_lat", size, 20000, port)[1]


def iperf3(seconds, port):
    """Gb/s of one TCP stream over a veth pair between two namespaces; None without root."""
    if os.geteuid() != 0:
        return None
    near, far = f"bench{os.getpid()}a", f"bench{os.getpid()}b"

    def ip(*arguments):
        subprocess.run(["ip", *arguments], check=True, timeout=20)

    try:
        for name in (near, far):
            ip("netns", "add", name)
        ip("link", "add", "veth", "netns", near, "type", "veth", "peer", "name", "veth", "netns", far)
        for name, address in ((near, "10.9.8.1/24"), (far, "10.9.8.2/24")):
            ip("-n", name, "address", "add", address, "dev", "veth")
            ip("-n", name, "link", "set", "veth", "mtu", "9000", "up")
        inside = ["ip", "netns", "exec"]
        with running([*inside, far, "taskset", "-c", "0", "iperf3", "-s", "-1", "-p", str(port)],
                     0.7, stdout=subprocess.DEVNULL):
            output = subprocess.run(
                [*inside, near, "taskset", "-c", "1", "iperf3", "-c", "10.9.8.2", "-J", "-t",
                 str(seconds), "-p", str(port)],
                check=True, capture_output=True, text=True, timeout=seconds + 30).stdout
        return json.loads(output)["end"]["sum_received"]["bits_per_second"] / 1e9
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "delete", name], check=False, timeout=20,
                           stderr=subprocess.DEVNULL)

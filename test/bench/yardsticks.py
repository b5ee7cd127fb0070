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

import veth


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


def testpmd(frame, seconds, zero_copy_receiver=False):
    """Million frames per second from testpmd txonly to testpmd rxonly over one memif port. The memif
    client sends; or it receives, as a zero-copy client."""
    # Now and then its two ends do not come together; that is no measurement.
    for _ in range(3):
        rates, output = testpmd_once(frame, seconds, zero_copy_receiver)
        if rates:
            return statistics.median(rates) / 1e6
        print("  testpmd received nothing; again", flush=True)
    raise RuntimeError("testpmd received nothing, three times:\n" + output[-2000:])


def testpmd_once(frame, seconds, zero_copy_receiver):
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "memif.sock")

        def start(core, role, *forwarding, output=subprocess.DEVNULL):
            return subprocess.Popen(
                ["dpdk-testpmd", "--lcores", f"0@{core},1@{core}", "--no-huge", "--no-shconf", "-m",
                 "1024", "--no-pci", "--single-file-segments", "--vdev",
                 f"net_memif0,role={role},id=0,socket={socket},socket-abstract=no,rsize=10,bsize=4608",
                 "--", "--total-num-mbufs=16384", "--mbuf-size=4736", "--stats-period=1",
                 "--no-lsc-interrupt", *forwarding],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, text=True)

        def start_receiver(role):
            return start(0, role, "--forward-mode=rxonly", output=subprocess.PIPE)

        def start_sender(role):
            return start(1, role, "--forward-mode=txonly", f"--txpkts={frame}")

        # The server comes first.
        if zero_copy_receiver:
            sender = start_sender("server")
            time.sleep(1.5)
            receiver = start_receiver("client,zero-copy=yes")
        else:
            receiver = start_receiver("server")
            time.sleep(1.5)
            sender = start_sender("client")
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
    """Gb/s of one TCP stream over a veth pair between two namespaces. Needs root."""
    with veth.namespaces(2) as (near, far):
        veth.join(near, far)
        inside = ["ip", "netns", "exec"]
        with running([*inside, far, "taskset", "-c", "0", "iperf3", "-s", "-1", "-p", str(port)],
                     0.7, stdout=subprocess.DEVNULL):
            output = subprocess.run(
                [*inside, near, "taskset", "-c", "1", "iperf3", "-c", veth.FAR, "-J", "-t",
                 str(seconds), "-p", str(port)],
                check=True, capture_output=True, text=True, timeout=seconds + 30).stdout
    return json.loads(output)["end"]["sum_received"]["bits_per_second"] / 1e9

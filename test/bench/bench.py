#!/usr/bin/env python3
"""Runs softmrc and its yardsticks side by side and reports ratios of medians.

Everything is measured in alternation (A, B, A, B ...) within one run, since absolute figures of a
shared machine drift within the hour. Writes the report (Markdown) and a JSON list of objects with
name, value, unit, reference, ratio.

    bench.py BUILD_DIRECTORY REPORT.md RESULT.json [--rounds N] [--seconds N]
"""

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import chart
import nodes
import veth
import yardsticks

PATH_MTU = 4096
# Ethernet, outer IPv6, IPv6, UDP, BTH, METH, TSETH, RETH, ICRC.
HEADERS = 14 + 40 + 40 + 8 + 12 + 4 + 4 + 16 + 4
FULL_FRAME = PATH_MTU + HEADERS
SMALL_FRAME = 64 + HEADERS
TINY_FRAME = 4 + HEADERS  # two bytes and their padding


class Bench:
    def __init__(self, build, rounds, seconds):
        self.build = os.path.abspath(build)
        self.root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.rounds = rounds
        self.seconds = seconds
        self.samples = {}
        self.grown = False  # more instructions per write than the code may take
        self.port = 20000 + os.getpid() % 20000

    def note(self, name, value):
        self.samples.setdefault(name, []).append(value)
        print(f"  {name}: {value:.3f}", flush=True)

    def median(self, name):
        return statistics.median(self.samples[name])

    def spread(self, name):
        """Half the range over the median, in percent: the noise of this run."""
        values = self.samples[name]
        middle = statistics.median(values)
        return 50 * (max(values) - min(values)) / middle if middle else 0.0

    def config(self, name):
        return os.path.join(self.root, "config", name)

    def nscc(self, name, folder, *change):
        return nodes.with_nscc(self.config(name), folder, *change)

    def next_port(self):
        self.port += 1
        return self.port

    def program(self, name):
        return os.path.join(self.build, name)

    # ---- softmrc ----

    def own_program(self, name, node_files, *options):
        """What a program of test/bench prints in JSON, of two devices joined by net_ring."""
        return json.loads(subprocess.run(
            [self.program(f"test/bench/{name}"), self.config(f"{node_files}-a.yaml"),
             self.config(f"{node_files}-b.yaml"), *options],
            check=True, capture_output=True, text=True, timeout=300).stdout)

    def perf_loopback(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "r.json")
            subprocess.run(
                [self.program("apps/mrc-perf"), "loopback", "--quiet", "--json", result,
                 "--config", self.config("loopback-nscc-a.yaml"),
                 "--peer-config", self.config("loopback-nscc-b.yaml"), "--cpu", "0",
                 "--peer-cpu", "1", *options],
                check=True, stdout=subprocess.DEVNULL, timeout=120)
            with open(result, encoding="utf-8") as file:
                report = json.load(file)
            result = report["results"][0]
            # All packets, acknowledgements too, for one that carries data.
            result["packets"] = sum(
                plane["tx_packets"] for end in ("local", "peer") for plane in report[end]["planes"]
            ) / report["local"]["transport"]["data_sent"]
            return result

    def note_rates(self, what, result):
        """Of writes of one packet each."""
        self.note(f"{what}, M/s", result["msg_rate_mpps"])
        self.note(f"{what}, packets, M/s", result["msg_rate_mpps"] * result["packets"])

    def perf_pair(self, *arguments):
        """As perf_pair_once. Now and then a run over memif dies inside DPDK's driver: its interrupt
        thread aborts the process when a peer's socket closes at the wrong moment, and a zero-copy
        client's buffers have been out of reach of the end that fills them (doc/hardware.md). That is
        no measurement, and is said."""
        deaths = (-signal.SIGABRT, -signal.SIGBUS, -signal.SIGSEGV)
        for _ in range(2):
            try:
                return self.perf_pair_once(*arguments)
            except subprocess.CalledProcessError as error:
                if error.returncode not in deaths:
                    raise
                print(f"  mrc-perf died of signal {-error.returncode}; again", flush=True)
        return self.perf_pair_once(*arguments)

    def perf_pair_once(self, receiver, sender, options, folder, namespaces=()):
        """Two processes, by their node files. The sender keeps trying until the receiver is there."""
        inside = [["ip", "netns", "exec", name] for name in namespaces] or [[], []]
        host = [veth.NEAR] if namespaces else []
        port = str(self.next_port())
        result = os.path.join(folder, "r.json")
        # AF_XDP as the only program of its interface, which needs no file system for such programs.
        environment = dict(os.environ, TMPDIR=folder, LIBXDP_SKIP_DISPATCHER="1")
        perf = self.program("apps/mrc-perf")
        with yardsticks.running(
                [*inside[0], perf, "server", "--quiet", "--cpu", "0", "--tcp-port", port, "--config",
                 receiver],
                0, patience=30, env=environment, stdout=subprocess.DEVNULL):
            subprocess.run(
                [*inside[1], perf, "client", *host, "--quiet", "--cpu", "1", "--tcp-port", port,
                 "--config", sender, "--json", result, *options],
                env=environment, check=True, stdout=subprocess.DEVNULL, timeout=120)
        with open(result, encoding="utf-8") as file:
            return json.load(file)["results"][0]

    def perf_memif(self, *options, zero_copy=None):
        """Over four memif planes. `zero_copy`: which end, "sender" or "receiver", is a client that maps
        its buffers; None: both copy, and the client sends."""
        change = [nodes.zero_copy_client] if zero_copy else []
        with tempfile.TemporaryDirectory() as folder:
            server, client = (self.nscc(name, folder, *change)
                              for name in ("memif-a.yaml", "memif-b.yaml"))
            ends = (client, server) if zero_copy == "receiver" else (server, client)
            return self.perf_pair(*ends, options, folder)

    def perf_veth(self, driver, *options):
        """Over four veth pairs."""
        with tempfile.TemporaryDirectory() as folder, \
                veth.planes(4, nodes.VETH_DRIVERS[driver][0]) as namespaces:
            ends = (self.nscc(name, folder, nodes.over_veth(driver))
                    for name in ("memif-a.yaml", "memif-b.yaml"))
            return self.perf_pair(*ends, options, folder, namespaces)

    def write_lat(self, size):
        """Median of stock ib_write_lat under mrc-run, over four memif planes."""
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, TMPDIR=folder)
            test = ["ib_write_lat", "-s", str(size), "-n", "20000", "-p", str(self.next_port())]

            def under_mrc_run(config):
                return [self.program("apps/mrc-run"), "--config", self.nscc(config, folder), "--"]

            with yardsticks.running(under_mrc_run("memif-a.yaml") + test, 1, patience=30,
                                    env=environment, stdout=subprocess.DEVNULL):
                output = subprocess.run(
                    under_mrc_run("memif-b.yaml") + test + ["127.0.0.1"], env=environment,
                    check=True, capture_output=True, text=True, timeout=120).stdout
        row = [line.split() for line in output.splitlines() if line.split()[:2] == [str(size), "20000"]]
        return float(row[0][4])

    # ---- the whole ----

    def run(self):
        seconds = str(self.seconds)
        for number in range(self.rounds):
            print(f"round {number + 1} of {self.rounds}", flush=True)
            copy = yardsticks.crc_copy(self.program("test/bench/crc_copy"), PATH_MTU)
            for size, region, text in (("512K", "512K", "512 KiB"), ("1M", "256M", "256 MiB")):
                self.note(f"CRC + memcpy, {text}, GB/s", copy[text])
                result = self.perf_loopback("--size", size, "--seconds", seconds, "--region",
                                            region)
                self.note(f"net_ring, {text} buffers, GB/s", result["bw_average_gbps"] / 8)
            result = self.perf_loopback("--size", "64", "--seconds", seconds)
            self.note_rates("net_ring, 64 B writes", result)
            for qps in (100, 1000, 10000):
                result = self.perf_loopback("--size", "64", "--seconds", seconds, "--qps",
                                            str(qps), "--tx-depth", "16", "--region", "64")
                self.note_rates(f"net_ring, 64 B writes, {qps} QPs", result)
            result = self.perf_loopback("--mode", "lat", "--size", "2", "--iterations", "20000",
                                        "--warmup", "1000")
            self.note("net_ring, 2 B write, us", result["half_post_to_completion"]["t_typical_us"])

            self.note("testpmd, full frames, Gb/s",
                      yardsticks.testpmd(FULL_FRAME, self.seconds) * PATH_MTU * 8 / 1e3)
            for size in ("64K", "1M"):
                result = self.perf_memif("--size", size, "--seconds", seconds)
                self.note(f"net_memif, {size[:-1]} {size[-1]}iB writes, Gb/s",
                          result["bw_average_gbps"])
                result = self.perf_memif("--size", size, "--seconds", seconds, zero_copy="sender")
                self.note(f"net_memif, {size[:-1]} {size[-1]}iB writes, zero-copy sender, Gb/s",
                          result["bw_average_gbps"])
            self.note("testpmd, full frames, zero-copy receiver, Gb/s",
                      yardsticks.testpmd(FULL_FRAME, self.seconds, True) * PATH_MTU * 8 / 1e3)
            result = self.perf_memif("--size", "64K", "--seconds", seconds, zero_copy="receiver")
            self.note("net_memif, 64 KiB writes, zero-copy receiver, Gb/s",
                      result["bw_average_gbps"])
            result = self.perf_memif("--size", "64K", "--seconds", seconds, "--loss", "0.01")
            self.note("net_memif, 64 KiB writes, 1 % loss, Gb/s", result["bw_average_gbps"])
            self.note("testpmd, small frames, M/s", yardsticks.testpmd(SMALL_FRAME, self.seconds))
            result = self.perf_memif("--size", "64", "--seconds", seconds)
            self.note("net_memif, 64 B writes, M/s", result["msg_rate_mpps"])

            self.note("memif round trip, halved, us",
                      yardsticks.memif_ping(self.program("test/bench/memif_ping"), TINY_FRAME))
            result = self.perf_memif("--mode", "lat", "--size", "2", "--iterations", "20000",
                                     "--warmup", "1000")
            half = result["half_post_to_completion"]
            self.note("net_memif, 2 B write, us", half["t_typical_us"])
            self.note("net_memif, 2 B write, p99.9, us", half["p99_9_us"])
            self.note("mrc-perf, 2 B round trip halved, us",
                      result["half_round_trip"]["t_typical_us"])
            wake_up = self.own_program("wake_up", "loopback-nscc", "1000")
            for by in ("packet", "post"):
                self.note(f"sleeping worker woken by a {by}, us", wake_up[by]["median_us"])
                self.note(f"sleeping worker woken by a {by}, p99, us", wake_up[by]["p99_us"])
            self.note("ib_write_lat, 2 B, us", self.write_lat(2))

            for size, text in ((65536, "64 KiB"), (1 << 20, "1 MiB")):
                self.note(f"UCX puts over TCP, {text}, Gb/s",
                          yardsticks.ucx_bandwidth(size, self.next_port()))
            self.note("UCX put over TCP, 8 B, us", yardsticks.ucx_latency(8, self.next_port()))
            if os.geteuid() == 0:
                self.note("iperf3 over veth, Gb/s",
                          yardsticks.iperf3(self.seconds, self.next_port()))
                for driver in nodes.VETH_DRIVERS:
                    result = self.perf_veth(driver, "--size", "64K", "--seconds", seconds)
                    self.note(f"{driver}, 64 KiB writes, Gb/s", result["bw_average_gbps"])
                    result = self.perf_veth(driver, "--mode", "lat", "--size", "2",
                                            "--iterations", "5000", "--warmup", "500")
                    self.note(f"{driver}, 2 B write, us",
                              result["half_post_to_completion"]["t_typical_us"])
        instructions, self.grown = yardsticks.instructions(
            self.program("test/bench/write_cost"), self.root)
        self.note("instructions per 64 B write", instructions)
        self.note("bytes per idle QP", self.own_program("idle_qps", "loopback-nscc", "2000"))
        self.stages = self.own_program("stages", "loopback")

    def results(self):
        """name, measured, unit, reference measured beside it (None: an absolute figure), and the
        bar: the least ratio, or ("at most", the largest ratio or value)."""
        def better(size):  # of memif's forms
            return max((f"net_memif, {size} writes{form}, Gb/s" for form in ("", ", zero-copy sender")),
                       key=self.median)

        rows = [
            ("ring_hot_vs_crc_memcpy", "net_ring, 512 KiB buffers, GB/s", "GB/s",
             "CRC + memcpy, 512 KiB, GB/s", 0.60),
            ("ring_cold_vs_crc_memcpy", "net_ring, 256 MiB buffers, GB/s", "GB/s",
             "CRC + memcpy, 256 MiB, GB/s", 0.85),
            ("memif_64k_vs_testpmd", "net_memif, 64 KiB writes, Gb/s", "Gb/s",
             "testpmd, full frames, Gb/s", 0.45),
            ("memif_64b_vs_testpmd", "net_memif, 64 B writes, M/s", "M/s",
             "testpmd, small frames, M/s", 0.50),
            ("memif_64k_zero_copy_receiver_vs_testpmd",
             "net_memif, 64 KiB writes, zero-copy receiver, Gb/s", "Gb/s",
             "testpmd, full frames, zero-copy receiver, Gb/s", 0.45),
            ("bandwidth_vs_ucx", better("64 KiB"), "Gb/s",
             "UCX puts over TCP, 64 KiB, Gb/s", 1.5),
            ("bandwidth_1m_vs_ucx", better("1 MiB"), "Gb/s",
             "UCX puts over TCP, 1 MiB, Gb/s", 1.5),
            ("bandwidth_vs_iperf3", better("64 KiB"), "Gb/s", "iperf3 over veth, Gb/s", 1.5),
            *((f"{driver.removeprefix('net_')}_vs_iperf3", f"{driver}, 64 KiB writes, Gb/s", "Gb/s",
               "iperf3 over veth, Gb/s", None) for driver in nodes.VETH_DRIVERS),
            ("latency_vs_raw_memif", "net_memif, 2 B write, us", "us",
             "memif round trip, halved, us", ("at most", 1.6)),
            ("latency_vs_ucx", "mrc-perf, 2 B round trip halved, us", "us",
             "UCX put over TCP, 8 B, us", ("at most", 0.125)),
            ("memif_loss_1_percent", "net_memif, 64 KiB writes, 1 % loss, Gb/s", "Gb/s",
             "net_memif, 64 KiB writes, Gb/s", 0.95),
            *((f"ring_64b_{qps}_qps_vs_one", f"net_ring, 64 B writes, {qps} QPs, M/s", "M/s",
               "net_ring, 64 B writes, M/s", None) for qps in (100, 1000, 10000)),
            *((f"ring_64b_{qps}_qps_packets_vs_one",
               f"net_ring, 64 B writes, {qps} QPs, packets, M/s", "M/s",
               "net_ring, 64 B writes, packets, M/s", 0.8) for qps in (100, 1000, 10000)),
            ("ib_write_lat_vs_mrc_perf", "ib_write_lat, 2 B, us", "us",
             "mrc-perf, 2 B round trip halved, us", ("at most", 3)),
            ("ring_64b_rate", "net_ring, 64 B writes, M/s", "M/s", None, 5),
            ("instructions_per_64b_write", "instructions per 64 B write", "instructions", None,
             ("at most", 700)),
            ("bytes_per_idle_qp", "bytes per idle QP", "bytes", None, ("at most", 4096)),
            ("ring_2b_latency", "net_ring, 2 B write, us", "us", None, None),
            ("memif_2b_latency_p99_9", "net_memif, 2 B write, p99.9, us", "us", None, None),
            *((f"wake_up_by_{by}", f"sleeping worker woken by a {by}, us", "us", None,
               ("at most", 50)) for by in ("packet", "post")),
            *((f"wake_up_by_{by}_p99", f"sleeping worker woken by a {by}, p99, us", "us", None, None)
              for by in ("packet", "post")),
            ("testpmd_small_frames", "testpmd, small frames, M/s", "M/s", None, None),
            *((f"{driver.removeprefix('net_')}_2b_latency", f"{driver}, 2 B write, us", "us", None,
               None) for driver in nodes.VETH_DRIVERS),
        ]
        out = []
        for name, measured, unit, reference, bar in rows:
            if measured not in self.samples or (reference and reference not in self.samples):
                continue  # cannot be measured here, and has said so
            entry = {"name": name, "value": self.median(measured), "unit": unit,
                     "noise_percent": self.spread(measured), "what": measured}
            if reference:
                entry["reference"] = self.median(reference)
                entry["reference_what"] = reference
                entry["reference_noise_percent"] = self.spread(reference)
                entry["ratio"] = entry["value"] / entry["reference"]
            if bar:
                at_most = isinstance(bar, tuple)
                entry["bar"] = bar[1] if at_most else bar
                judged = entry.get("ratio", entry["value"])
                # 1: just met; above: better, whichever way the bar reads.
                entry["reached"] = entry["bar"] / judged if at_most else judged / entry["bar"]
                entry["met"] = entry["reached"] >= 1
                entry["bar_text"] = f"at {'most' if at_most else 'least'} {entry['bar']}"
            out.append(entry)
        return out


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    flags = subprocess.run(["grep", "-m1", "-o", "-w", "vpclmulqdq", "/proc/cpuinfo"],
                           capture_output=True, text=True, check=False).stdout.strip()
    return (f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
            f"vectorised CRC: {'VPCLMULQDQ' if flags else 'narrower'}")


def verdict(row):
    return f"{row['bar_text']}: {'met' if row['met'] else '**missed**'}" if "bar" in row else ""


def report(bench, results, picture):
    lines = [
        "# Benchmarks", "",
        "Written by `scripts/bench.sh`; run it to get the figures of your machine. Everything is",
        "measured in alternation within one run and the medians are compared: a shared machine's",
        "absolute figures drift by tens of percent within the hour, ratios from one run much less.",
        "", f"Machine: {machine()}. Medians of {bench.rounds} rounds of {bench.seconds} s;",
        "noise is half the range of the rounds over their median.", "",
        f"Path MTU {PATH_MTU}, four planes, SRv6, ICRC made and checked, NSCC.",
        f"Frames are {FULL_FRAME} bytes with a full payload and {SMALL_FRAME} with 64 bytes; testpmd",
        "sends frames of the same size over one memif port, which it never reads or writes.",
        "`CRC + memcpy` is one core that takes the vectorised CRC of each 4 KiB and copies it",
        "(`test/bench/crc_copy.cc`). In the net_ring runs both ends are threads of one process,",
        "each on a CPU of its own. Many QPs have 16 writes outstanding each, one has 128; the bar is on",
        "the cost per packet, acknowledgements of both kinds counted too, of which each QP sends its own.",
        "UCX and iperf3 as their users would at best: one end per core, UCX with segments of 256 KiB;",
        "beside them net_memif in its better form. net_af_xdp takes no frame larger than a page: path",
        "MTU 2048 there.",
        "", f"![Each figure as a share of its bar]({picture})", "", "## Side by side", "",
        "| what | measured | noise | beside it | measured | noise | ratio | bar |",
        "|---|---|---|---|---|---|---|---|"]
    for row in results:
        if "ratio" in row:
            lines.append(
                f"| {row['what'].rsplit(', ', 1)[0]} | {row['value']:.2f} {row['unit']} | "
                f"{row['noise_percent']:.0f} % | {row['reference_what'].rsplit(', ', 1)[0]} | "
                f"{row['reference']:.2f} {row['unit']} | "
                f"{row['reference_noise_percent']:.0f} % | **{row['ratio']:.2f}** | {verdict(row)} |")
    lines += ["", "## Absolute", "", "| what | measured | noise | bar |", "|---|---|---|---|"]
    for row in results:
        if "ratio" not in row:
            lines.append(f"| {row['what'].rsplit(', ', 1)[0]} | {row['value']:.2f} {row['unit']} | "
                         f"{row['noise_percent']:.0f} % | {verdict(row)} |")
    lines += ["", "Latency is half of the time from posting a write to its completion. A worker that sleeps",
              "wakes when the write has arrived, a millisecond after the last one (`test/bench/wake_up.cc`).",
              "",
              "## Nanoseconds per packet, by stage", "",
              "Each stage alone, over batches of 32 packets whose data stay in cache",
              "(`test/bench/stages.cc`). The rest of the time per packet is mbufs, ports, the",
              "application's calls and the cache misses between stages.", ""]
    names = list(bench.stages)
    lines += ["| stage | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for stage in bench.stages[names[0]]:
        lines.append(f"| {stage} | " +
                     " | ".join(f"{bench.stages[name][stage]:.0f}" for name in names) + " |")
    lines.append("| **sum** | " + " | ".join(
        f"**{sum(bench.stages[name].values()):.0f}**" for name in names) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("report")
    parser.add_argument("result")
    parser.add_argument("chart")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--quick", action="store_true",
                        help="one round of a second; fails if instructions per write have grown")
    options = parser.parse_args()
    for tool in ("dpdk-testpmd", "ucx_perftest", "iperf3", "ib_write_lat", "valgrind"):
        if not shutil.which(tool):
            sys.exit(f"bench.py: {tool} is not installed (scripts/packages.txt)")
    if os.geteuid() != 0:
        print("what goes over veth needs root: left out")
    if options.quick:
        options.rounds = options.seconds = 1
    bench = Bench(options.build, options.rounds, options.seconds)
    bench.run()
    results = bench.results()
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    with open(options.report, "w", encoding="utf-8") as file:
        file.write(report(bench, results, os.path.basename(options.chart)))
    with open(options.chart, "w", encoding="utf-8") as file:
        file.write(chart.svg(results, "softmrc: measured, as a share of what is asked"))
    for row in results:
        ratio = f"  {row['ratio']:.2f} of {row['reference']:.2f}" if "ratio" in row else ""
        print(f"{row['name']:26} {row['value']:8.2f} {row['unit']:5}{ratio}")
    return 1 if options.quick and bench.grown else 0


if __name__ == "__main__":
    sys.exit(main())

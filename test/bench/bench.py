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
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PATH_MTU = 4096
# Ethernet, outer IPv6, IPv6, UDP, BTH, METH, TSETH, RETH, ICRC.
HEADERS = 14 + 40 + 40 + 8 + 12 + 4 + 4 + 16 + 4
FULL_FRAME = PATH_MTU + HEADERS
SMALL_FRAME = 64 + HEADERS


class Bench:
    def __init__(self, build, rounds, seconds):
        self.build = os.path.abspath(build)
        self.root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.rounds = rounds
        self.seconds = seconds
        self.samples = {}
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

    def program(self, name):
        return os.path.join(self.build, name)

    # ---- softmrc ----

    def perf_loopback(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "r.json")
            subprocess.run(
                [self.program("apps/mrc-perf"), "loopback", "--quiet", "--json", result,
                 "--config", self.config("loopback-a.yaml"),
                 "--peer-config", self.config("loopback-b.yaml"), *options],
                check=True, stdout=subprocess.DEVNULL, timeout=120)
            with open(result, encoding="utf-8") as file:
                return json.load(file)["results"][0]

    def perf_memif(self, *options):
        """Two processes over four memif planes."""
        with tempfile.TemporaryDirectory() as folder:
            self.port += 1
            result = os.path.join(folder, "r.json")
            environment = dict(os.environ, TMPDIR=folder)
            common = [self.program("apps/mrc-perf")]
            server = subprocess.Popen(
                common + ["server", "--quiet", "--config", self.config("memif-a.yaml"),
                          "--tcp-port", str(self.port)],
                env=environment, stdout=subprocess.DEVNULL)
            try:
                subprocess.run(
                    common + ["client", "--quiet", "--config", self.config("memif-b.yaml"),
                              "--tcp-port", str(self.port), "--json", result, *options],
                    env=environment, check=True, stdout=subprocess.DEVNULL, timeout=120)
                server.wait(timeout=30)
            finally:
                stop(server)
            with open(result, encoding="utf-8") as file:
                return json.load(file)["results"][0]

    # ---- yardsticks ----

    def crc_copy(self):
        output = subprocess.run([self.program("test/bench/crc_copy"), str(PATH_MTU), "3"],
                                check=True, capture_output=True, text=True, timeout=120).stdout
        return json.loads(output)

    def testpmd(self, frame):
        """Million frames per second from testpmd txonly to testpmd rxonly over one memif port."""
        # Now and then its two ends do not come together; that is no measurement.
        for _ in range(3):
            rates, output = self.testpmd_once(frame)
            if rates:
                return statistics.median(rates) / 1e6
            print("  testpmd received nothing; again", flush=True)
        raise RuntimeError("testpmd received nothing, three times:\n" + output[-2000:])

    def testpmd_once(self, frame):
        with tempfile.TemporaryDirectory() as folder:
            socket = os.path.join(folder, "memif.sock")
            common = ["--no-huge", "--no-shconf", "-m", "1024", "--no-pci",
                      "--single-file-segments"]
            ports = f"id=0,socket={socket},socket-abstract=no,rsize=10,bsize=4608"
            tail = ["--total-num-mbufs=16384", "--mbuf-size=4736", "--stats-period=1",
                    "--no-lsc-interrupt"]
            receiver = subprocess.Popen(
                ["dpdk-testpmd", "--lcores", "0@0,1@0", *common,
                 "--vdev", f"net_memif0,role=server,{ports}", "--", *tail,
                 "--forward-mode=rxonly"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True)
            time.sleep(1.5)
            sender = subprocess.Popen(
                ["dpdk-testpmd", "--lcores", "0@1,1@1", *common,
                 "--vdev", f"net_memif0,role=client,{ports}", "--", *tail,
                 "--forward-mode=txonly", f"--txpkts={frame}"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(self.seconds + 3)
            # The sender first: a memif peer that dies under traffic can take the survivor along.
            stop(sender)
            time.sleep(0.5)
            receiver.send_signal(signal.SIGINT)
            output, _ = receiver.communicate(timeout=20)
        rates = [int(rate) for rate in re.findall(r"Rx-pps:\s+(\d+)", output)]
        return [rate for rate in rates if rate > 0], output

    # ---- the whole ----

    def run(self):
        seconds = str(self.seconds)
        for number in range(self.rounds):
            print(f"round {number + 1} of {self.rounds}", flush=True)
            copy = self.crc_copy()
            self.note("CRC + memcpy, 1 MiB, GB/s", copy["1 MiB"])
            self.note("CRC + memcpy, 256 MiB, GB/s", copy["256 MiB"])
            for region in ("1M", "256M"):
                result = self.perf_loopback("--size", "1M", "--seconds", seconds, "--region",
                                            region)
                self.note(f"net_ring, 1 MiB writes, {region[:-1]} MiB, GB/s",
                          result["bw_average_gbps"] / 8)
            result = self.perf_loopback("--size", "64", "--seconds", seconds)
            self.note("net_ring, 64 B writes, M/s", result["msg_rate_mpps"])
            result = self.perf_loopback("--mode", "lat", "--size", "2", "--iterations", "20000",
                                        "--warmup", "1000")
            self.note("net_ring, 2 B write, us", result["half_post_to_completion"]["t_typical_us"])

            self.note("testpmd, full frames, Gb/s", self.testpmd(FULL_FRAME) * PATH_MTU * 8 / 1e3)
            result = self.perf_memif("--size", "64K", "--seconds", seconds)
            self.note("net_memif, 64 KiB writes, Gb/s", result["bw_average_gbps"])
            self.note("testpmd, small frames, M/s", self.testpmd(SMALL_FRAME))
            result = self.perf_memif("--size", "64", "--seconds", seconds)
            self.note("net_memif, 64 B writes, M/s", result["msg_rate_mpps"])
            result = self.perf_memif("--mode", "lat", "--size", "2", "--iterations", "20000",
                                     "--warmup", "1000")
            half = result["half_post_to_completion"]
            self.note("net_memif, 2 B write, us", half["t_typical_us"])
            self.note("net_memif, 2 B write, p99.9, us", half["p99_9_us"])
        output = subprocess.run(
            [self.program("test/bench/stages"), self.config("loopback-a.yaml"),
             self.config("loopback-b.yaml")],
            check=True, capture_output=True, text=True, timeout=300).stdout
        self.stages = json.loads(output)

    def results(self):
        """name, measured, unit, reference measured beside it (None: an absolute figure)."""
        rows = [
            ("ring_hot_vs_crc_memcpy", "net_ring, 1 MiB writes, 1 MiB, GB/s", "GB/s",
             "CRC + memcpy, 1 MiB, GB/s"),
            ("ring_cold_vs_crc_memcpy", "net_ring, 1 MiB writes, 256 MiB, GB/s", "GB/s",
             "CRC + memcpy, 256 MiB, GB/s"),
            ("memif_64k_vs_testpmd", "net_memif, 64 KiB writes, Gb/s", "Gb/s",
             "testpmd, full frames, Gb/s"),
            ("memif_64b_vs_testpmd", "net_memif, 64 B writes, M/s", "M/s",
             "testpmd, small frames, M/s"),
            ("ring_64b_rate", "net_ring, 64 B writes, M/s", "M/s", None),
            ("ring_2b_latency", "net_ring, 2 B write, us", "us", None),
            ("memif_2b_latency", "net_memif, 2 B write, us", "us", None),
            ("memif_2b_latency_p99_9", "net_memif, 2 B write, p99.9, us", "us", None),
        ]
        out = []
        for name, measured, unit, reference in rows:
            entry = {"name": name, "value": self.median(measured), "unit": unit,
                     "noise_percent": self.spread(measured), "what": measured}
            if reference:
                entry["reference"] = self.median(reference)
                entry["reference_what"] = reference
                entry["reference_noise_percent"] = self.spread(reference)
                entry["ratio"] = entry["value"] / entry["reference"]
            out.append(entry)
        return out


def stop(process):
    """Ends a process that this script started."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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


def report(bench, results):
    lines = [
        "# Benchmarks", "",
        "Written by `scripts/bench.sh`; run it to get the figures of your machine. Everything is",
        "measured in alternation within one run and the medians are compared: a shared machine's",
        "absolute figures drift by tens of percent within the hour, ratios from one run much less.",
        "", f"Machine: {machine()}. Medians of {bench.rounds} rounds of {bench.seconds} s;",
        "noise is half the range of the rounds over their median.", "",
        f"Path MTU {PATH_MTU}, four planes, SRv6, ICRC made and checked, a fixed congestion window.",
        f"Frames are {FULL_FRAME} bytes with a full payload and {SMALL_FRAME} with 64 bytes; testpmd",
        "sends frames of the same size over one memif port, which it never reads or writes.",
        "`CRC + memcpy` is one core that takes the vectorised CRC of each 4 KiB and copies it",
        "(`test/bench/crc_copy.cc`). In the net_ring runs one thread does everything at both ends.",
        "", "## Side by side", "",
        "| what | measured | noise | beside it | measured | noise | ratio |",
        "|---|---|---|---|---|---|---|"]
    for row in results:
        if "ratio" in row:
            lines.append(
                f"| {row['what'].rsplit(', ', 1)[0]} | {row['value']:.2f} {row['unit']} | "
                f"{row['noise_percent']:.0f} % | {row['reference_what'].rsplit(', ', 1)[0]} | "
                f"{row['reference']:.2f} {row['unit']} | "
                f"{row['reference_noise_percent']:.0f} % | **{row['ratio']:.2f}** |")
    lines += ["", "## Absolute", "", "| what | measured | noise |", "|---|---|---|"]
    for row in results:
        if "ratio" not in row:
            lines.append(f"| {row['what'].rsplit(', ', 1)[0]} | {row['value']:.2f} {row['unit']} | "
                         f"{row['noise_percent']:.0f} % |")
    lines += ["", "Latency is half of the time from posting a write to its completion.", "",
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
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    options = parser.parse_args()
    if not shutil.which("dpdk-testpmd"):
        sys.exit("bench.py: dpdk-testpmd is not installed (package dpdk-dev)")
    bench = Bench(options.build, options.rounds, options.seconds)
    bench.run()
    results = bench.results()
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    with open(options.report, "w", encoding="utf-8") as file:
        file.write(report(bench, results))
    for row in results:
        ratio = f"  {row['ratio']:.2f} of {row['reference']:.2f}" if "ratio" in row else ""
        print(f"{row['name']:26} {row['value']:8.2f} {row['unit']:5}{ratio}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""scripts/sim_report fed with what mrc-sim makes of a small scenario: the page holds what it must and
loads nothing, and a file that mrc-sim did not write is refused by name and place.

Usage: sim_report_test.py MRC_SIM SOURCE_ROOT
"""

import copy
import html.parser
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCENARIO = """
title: "Four hosts & a <small> fabric"
fabric: {planes: 2, hosts: 4, hosts_per_t0: 2, uplinks: 2}
transport: {evs: 16}
workload: {kind: permutation, shift: 2, bytes: 200K, message_bytes: 50K}
run: {duration_us: 2000, warm_up_us: 1, sample_us: 1, seeds: 2}
variants:
  clean: {}
  lossy: {faults: [{kind: loss, value: 0.05, downlinks: true, at_us: 5, until_us: 60}]}
  endless: {workload: {bytes: 0}, run: {duration_us: 1000}}
expect:
  - {metric: clean.flows_done, min: 4}
  - {metric: lossy.lost, over: clean.data_packets, max: 0}
  - {metric: clean.no_such_thing, min: 0}
"""
VOID = {"meta", "br"}


class Page(html.parser.HTMLParser):
    """Tags and what stands between them; fails on tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.loads, self.text = [], [], [], [], ""
        self.curves, self.captions = [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        if "src" in attributes or tag in ("link", "iframe", "image", "use"):
            self.loads.append(tag)
        if tag == "polyline":
            self.curves.append(attributes)
        if tag == "figure":
            self.captions.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> within {self.open}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("style", "script"):
            return
        self.text += data
        if "figcaption" in self.open:
            self.captions[-1] += data


def report(*arguments):
    return subprocess.run([sys.executable, ROOT / "scripts" / "sim_report", *arguments],
                          capture_output=True, text=True, check=False)


class SimReport(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        scenario = cls.path / "tiny.yaml"
        scenario.write_text(SCENARIO)
        cls.json = cls.path / "tiny.json"
        run = subprocess.run([SIM, "--quiet", "--json", cls.json, scenario], capture_output=True,
                             text=True, check=False)
        assert run.returncode == 1, run.stderr  # two expectations cannot be met
        cls.content = json.loads(cls.json.read_text())

    def made(self, *arguments):
        out = self.path / "page.html"
        done = report("-o", out, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.raw = out.read_text(encoding="utf-8")
        return Page(self.raw)

    def refused(self, content, words):
        broken = self.path / "broken.json"
        broken.write_text(content if isinstance(content, str) else json.dumps(content))
        out = self.path / "none.html"
        done = report("-o", out, self.json, broken)
        self.assertEqual(done.returncode, 2)
        self.assertFalse(out.exists())
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(f"{broken}", done.stderr)
        self.assertIn(words, done.stderr)

    def test_page_holds_what_it_must(self):
        page = self.made("--note", "Made by a test.", self.json)
        for words in ("0 passed, 1 failed", "Made by a test.", "Four hosts & a <small> fabric",
                      "no such metric", "1 of 3", "4 hosts, 2 planes of 100 Gb/s", "goodput_gbps",
                      "more metrics", "Metrics are medians over the seeds"):
            self.assertIn(words, page.text)
        self.assertEqual(page.text.count("✗ FAILED"), 4)  # overview, heading, two expectations
        titles = [caption.split(",")[0] for caption in page.captions]
        self.assertEqual(titles[:4], ["Throughput", "Flow completion time", "Queue depth (mean)",
                                      "Queue depth (deepest)"])
        for variant in ("clean", "lossy", "endless"):
            self.assertIn(f"Throughput per plane: {variant}", titles)
        self.assertIn("EV states: lossy", titles)

    def test_variants_share_plots(self):
        page = self.made(self.json)
        names = [curve.get("data-name") for curve in page.curves]
        self.assertEqual(names[:3], ["clean", "endless", "lossy"])  # throughput
        self.assertEqual(names[3:5], ["clean", "lossy"])  # those whose flows end
        self.assertGreaterEqual(names.count("plane 1"), 3)
        self.assertIn("loss (lossy)", page.text)
        self.assertIn("warm-up", page.text)

    def test_page_loads_nothing_and_links_within(self):
        page = self.made(self.json)
        self.assertEqual(page.loads, [])
        for word in ("http", "@import", "url(/", "fetch("):
            self.assertFalse(word in self.raw, word)
        self.assertEqual(len(page.ids), len(set(page.ids)))
        self.assertTrue(page.links)
        for link in page.links:
            self.assertIn(link.removeprefix("#"), page.ids)

    def test_long_series_are_thinned_and_keep_their_peak(self):
        long = copy.deepcopy(self.content)
        series = long[0]["variants"][0]["series"]
        count = 50_000
        series["time_us"] = [float(i) for i in range(count)]
        for key in ("goodput_gbps", "queue_mean_bytes", "queue_max_bytes", "ev_good", "ev_skip",
                    "ev_bad"):
            series[key] = [1.0] * count
        series["plane_gbps"] = [[1.0] * count] * 2
        series["queue_max_bytes"][31_415] = 1000.0
        path = self.path / "long.json"
        path.write_text(json.dumps(long))
        page = self.made(path)
        self.assertLess(len(self.raw), 1_000_000)
        of_clean = [curve for curve in page.curves if curve.get("data-name") == "clean"]
        self.assertEqual(len(of_clean), 4)
        heights = {point.split(",")[1] for point in of_clean[3]["points"].split()}
        self.assertEqual(len(heights), 2, "the one high sample is drawn")

    def test_same_input_same_page(self):
        self.made(self.json)
        first = self.raw
        self.made(self.json)
        self.assertEqual(first, self.raw)

    def test_scenarios_that_left_nothing(self):
        log = self.path / "gone.log"
        log.write_text("mrc-sim: gone.yaml:3: <no> such key\n")
        page = self.made("--failed", log, self.json)
        self.assertIn("0 passed, 2 failed", page.text)
        self.assertIn("gone.yaml:3: <no> such key", page.text)

    def test_malformed(self):
        self.refused('[{"scenario": "x",\n "title"', ":2: not JSON")
        self.refused("", ":1: not JSON")
        self.refused({}, "not a list of scenarios")
        self.refused([7], "[0]: not an object")
        self.refused([{"scenario": "x", "title": "y"}], "[0]: no 'variants'")

        def changed(change):
            content = copy.deepcopy(self.content)
            change(content[0])
            return content

        variant = "[0].variants[1]"
        self.refused(changed(lambda s: s["variants"][1]["series"].pop("time_us")),
                     f"{variant}.series: no 'time_us'")
        self.refused(changed(lambda s: s["variants"][1]["series"]["ev_bad"].pop()),
                     f"{variant}.series.ev_bad: ")
        self.refused(changed(lambda s: s["variants"][1]["series"]["goodput_gbps"].__setitem__(2, "x")),
                     f"{variant}.series.goodput_gbps[2]: not a number")
        self.refused(changed(lambda s: s["variants"][1]["runs"].clear()), f"{variant}.runs: is empty")
        self.refused(changed(lambda s: s["variants"][1]["metrics"].update(jain=[1])),
                     f"{variant}.metrics.jain: not a number")
        self.refused(changed(lambda s: s["expectations"][0].update(ok="yes")),
                     "[0].expectations[0].ok: not true or false")
        self.refused(changed(lambda s: s["variants"][2]["setup"]["faults"][0].pop("kind")),
                     "[0].variants[2].setup.faults[0]: no 'kind'")

    def test_missing_file(self):
        done = report("-o", self.path / "none.html", self.path / "nothing.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing.json: No such file", done.stderr)


if __name__ == "__main__":
    SIM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])

"""Reads what mrc-sim wrote (`--json`; doc/simulator.md has the layout) and checks all of it, so that
nothing behind meets a value it does not expect. What is wrong is named by file and place.
"""

import json
import math

SERIES = ("goodput_gbps", "queue_mean_bytes", "queue_max_bytes", "ev_good", "ev_skip", "ev_bad")


class Malformed(Exception):
    """A file that mrc-sim did not write, and where in it that shows."""


NUMBER = (int, float)


def take(mapping, key, kind, where, default=None):
    """mapping[key], of that kind. A default stands for a key that may be missing."""
    if not isinstance(mapping, dict):
        raise Malformed(f"{where}: not an object")
    if key not in mapping and default is not None:
        return default
    if key not in mapping:
        raise Malformed(f"{where}: no '{key}'")
    value = mapping[key]
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
        raise Malformed(f"{where}.{key}: not {KINDS[kind]}")
    return value


KINDS = {str: "a text", bool: "true or false", list: "a list", dict: "an object", NUMBER: "a number"}


def check_numbers(values, length, where):
    if not isinstance(values, list):
        raise Malformed(f"{where}: not a list")
    if len(values) != length:
        raise Malformed(f"{where}: {len(values)} values, {length} samples")
    for i, value in enumerate(values):
        if not isinstance(value, NUMBER) or isinstance(value, bool) or not math.isfinite(value):
            raise Malformed(f"{where}[{i}]: not a number")


def check_metrics(metrics, where):
    for name, value in metrics.items():
        if value is not None and (not isinstance(value, NUMBER) or isinstance(value, bool)):
            raise Malformed(f"{where}.{name}: not a number")


def check_variant(variant, where):
    take(variant, "variant", str, where)
    check_metrics(take(variant, "metrics", dict, where), f"{where}.metrics")
    for i, run in enumerate(take(variant, "runs", list, where)):
        here = f"{where}.runs[{i}]"
        check_metrics(take(run, "metrics", dict, here), f"{here}.metrics")
        take(run, "seed", NUMBER, here)
        take(run, "first_failure", str, here)
        for key in ("wall_seconds", "packets_per_second", "bytes_per_endpoint_peak"):
            take(run, key, NUMBER, here)
    if not variant["runs"]:
        raise Malformed(f"{where}.runs: is empty")
    series = take(variant, "series", dict, where)
    here = f"{where}.series"
    times = take(series, "time_us", list, here)
    check_numbers(times, len(times), f"{here}.time_us")
    for key in SERIES:
        check_numbers(take(series, key, list, here), len(times), f"{here}.{key}")
    for i, plane in enumerate(take(series, "plane_gbps", list, here)):
        check_numbers(plane, len(times), f"{here}.plane_gbps[{i}]")
    for i, flow in enumerate(take(variant, "flows", list, where)):
        take(flow, "group", str, f"{where}.flows[{i}]")
        take(flow, "start_us", NUMBER, f"{where}.flows[{i}]")
        take(flow, "end_us", NUMBER, f"{where}.flows[{i}]", -1)
    check_setup(take(variant, "setup", dict, where), f"{where}.setup")


def check_setup(setup, where):
    for key in ("hosts", "planes", "link_mbps", "warm_up_us"):
        take(setup, key, NUMBER, where)
    for i, fault in enumerate(take(setup, "faults", list, where)):
        here = f"{where}.faults[{i}]"
        take(fault, "kind", str, here)
        take(fault, "until_us", NUMBER, here, -1)
        for key in ("at_us", "period_us", "times"):
            take(fault, key, NUMBER, here)


def check_scenario(scenario, where):
    take(scenario, "scenario", str, where)
    take(scenario, "title", str, where)
    variants = take(scenario, "variants", list, where)
    if not variants:
        raise Malformed(f"{where}.variants: is empty")
    for i, variant in enumerate(variants):
        check_variant(variant, f"{where}.variants[{i}]")
    for i, expectation in enumerate(take(scenario, "expectations", list, where)):
        here = f"{where}.expectations[{i}]"
        take(expectation, "metric", str, here)
        take(expectation, "over", str, here)
        take(expectation, "ok", bool, here)
        for key in ("value", "min", "max"):
            take(expectation, key, NUMBER, here, math.nan)


def load(path):
    """The scenarios of a file, checked: nothing below meets a value it does not expect."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Malformed(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Malformed(f"{path}: is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise Malformed(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    if not isinstance(content, list) or not content:
        raise Malformed(f"{path}: not a list of scenarios")
    for i, scenario in enumerate(content):
        check_scenario(scenario, f"{path}: [{i}]")
    return content

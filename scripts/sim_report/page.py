"""The page: an overview, then per scenario its expectations, plots and metrics. It loads nothing."""

import math
import pathlib

import plots as plot_list
import svg
from text import escaped, number, seconds, variant_name

HERE = pathlib.Path(__file__).parent

# Shown without unfolding; the rest of doc/simulator.md's metrics is below the fold.
METRICS = {
    "goodput_gbps": ("Gb/s", "payload delivered, sum over flows"),
    "goodput_share": ("", "of what the ports of sources or destinations can carry; above 1 where flows end early"),
    "flow_slowest": ("", "slowest flow's rate over the mean"),
    "flow_fastest": ("", "fastest flow's rate over the mean"),
    "jain": ("", "Jain's fairness index of the flows' rates"),
    "last_completion_us": ("µs", "end of the last flow that ended"),
    "p99_completion_us": ("µs", "99th percentile of flow completion times"),
    "data_packets": ("", "data packets, each counted once"),
    "resent": ("", "data packets sent again"),
    "resent_timeout": ("", "of these, after a timeout"),
    "spurious_resends": ("", "of these, without need"),
    "trimmed": ("", "packets cut to their headers by full queues"),
    "lost": ("", "packets lost in the fabric, for whatever reason"),
    "evs_gone_bad": ("", "times an EV went ASSUMED_BAD"),
    "qps_failed": ("", "QPs that ended in an error"),
    "simulated_us": ("µs", "simulated time"),
}
OF_GROUP = ("goodput_gbps", "goodput_share", "flow_slowest", "jain", "last_completion_us")
OF_WINDOW = {
    "goodput_min_gbps": ("Gb/s", "lowest sample of the window"),
    "goodput_mean_gbps": ("Gb/s", "mean over the window"),
    "planes_apart": ("", "largest difference between planes that carry something, of the larger"),
}

def verdict(ok):
    return '<span class="ok">✓ ok</span>' if ok else '<span class="failed">✗ FAILED</span>'


def bound(expectation):
    parts = []
    if "min" in expectation:
        parts.append(f"≥ {number(expectation['min'])}")
    if "max" in expectation:
        parts.append(f"≤ {number(expectation['max'])}")
    return " and ".join(parts)


def margin(expectation):
    """How far from its nearer bound a value is, of the bound; negative: beyond it."""
    value = expectation.get("value")
    if value is None:
        return ""
    room = []
    if expectation.get("min"):
        room.append((value - expectation["min"]) / abs(expectation["min"]))
    if expectation.get("max"):
        room.append((expectation["max"] - value) / abs(expectation["max"]))
    return f"{100 * min(room):+.1f} %" if room else ""


def expectation_table(scenario):
    rows = []
    for e in scenario["expectations"]:
        what = e["metric"] + (f" / {e['over']}" if e["over"] else "")
        value = number(e["value"]) if "value" in e else "no such metric"
        rows.append(f'<tr><td>{verdict(e["ok"])}</td><td><code>{escaped(what)}</code></td>'
                    f'<td class="n">{value}</td><td class="n">{bound(e)}</td>'
                    f'<td class="n">{margin(e)}</td></tr>')
    if not rows:
        return "<p>The scenario expects nothing.</p>"
    return ('<div class="wide"><table><thead><tr><th>verdict</th><th>metric</th>'
            '<th class="n">value</th><th class="n">expected</th><th class="n">room to bound</th>'
            f'</tr></thead><tbody>{"".join(rows)}</tbody></table></div>')


def cell(variant, name):
    values = [run["metrics"].get(name) for run in variant["runs"]]
    values = [value for value in values if value is not None]
    text = number(variant["metrics"].get(name))
    if values and number(min(values)) != number(max(values)):
        text += f'<small>{number(min(values))} … {number(max(values))}</small>'
    return f'<td class="n">{text}</td>'


def metric_table(variants, rows):
    head = "".join(f'<th class="n">{escaped(variant_name(v))}</th>' for v in variants)
    body = "".join(
        f'<tr><td><code>{escaped(name)}</code></td><td>{unit}</td>'
        f'{"".join(cell(v, name) for v in variants)}<td class="detail">{escaped(words)}</td></tr>'
        for name, unit, words in rows)
    return (f'<div class="wide"><table><thead><tr><th>metric</th><th>unit</th>{head}<th></th></tr>'
            f'</thead><tbody>{body}</tbody></table></div>')


def unit_of(name):
    for ending, unit in {"_gbps": "Gb/s", "_us": "µs", "_bytes": "B"}.items():
        if name.endswith(ending):
            return unit
    return ""


def metrics(scenario):
    variants = scenario["variants"]
    names = dict.fromkeys(name for v in variants for name in v["metrics"])
    main = [(name, *METRICS[name]) for name in METRICS if name in names]
    for name in names:
        last = name.rpartition(".")[2]
        if "." in name and (last in OF_GROUP or last in OF_WINDOW):
            main.append((name, *(OF_WINDOW.get(last) or METRICS[last])))
    shown = {row[0] for row in main}
    others = [(name, unit_of(name), "") for name in sorted(names) if name not in shown]
    out = metric_table(variants, main)
    if others:
        out += (f'<details><summary>{len(others)} more metrics</summary>'
                f'{metric_table(variants, others)}</details>')
    return out


def costs(scenario):
    parts = []
    for variant in scenario["variants"]:
        runs = variant["runs"]
        part = (f'{variant_name(variant)} {seconds(sum(run["wall_seconds"] for run in runs))}'
                f'{f" for {len(runs)} seeds" if len(runs) > 1 else ""}, '
                f'{number(round(runs[-1]["packets_per_second"]))} data packets/s')
        memory = max(run["bytes_per_endpoint_peak"] for run in runs) / 1024
        parts.append(part + (f', {memory:.0f} KiB per host' if memory >= 1 else ''))
    return f'<p class="detail">Cost: {escaped("; ".join(parts))}.</p>'


def fabric(variants):
    def each(key, factor=1):
        return ", ".join(number(v / factor) for v in dict.fromkeys(v["setup"][key] for v in variants))

    planes = each("planes")
    return (f'<p class="detail">{each("hosts")} hosts, {planes} plane{"" if planes == "1" else "s"} '
            f'of {each("link_mbps", 1000)} Gb/s.</p>')


def remarks(scenario):
    variants = scenario["variants"]
    out = [fabric(variants)]
    for variant in variants:
        for run in variant["runs"]:
            if run["first_failure"]:
                out.append(f'<p class="failed">{escaped(variant_name(variant))}, seed '
                           f'{run["seed"]}: first failed {escaped(run["first_failure"])}</p>')
    always = []
    for variant in variants:
        kinds = []
        plot_list.spans_of(variant, kinds)
        if kinds:
            always.append(f"{variant_name(variant)}: {', '.join(kinds)}")
    if always:
        out.append(f'<p class="detail">Throughout the run: {escaped("; ".join(always))}.</p>')
    if any(len(variant["runs"]) > 1 for variant in variants):
        out.append('<p class="detail">Metrics are medians over the seeds, lowest and highest below '
                   'them; plots show the first seed.</p>')
    return "".join(out)


def plots(scenario, uid):
    list_, notes = plot_list.of_scenario(scenario)
    figures = "".join(svg.figure(plot, f"{uid}-{i}") for i, plot in enumerate(list_))
    return f'<div class="plots">{figures}</div><p class="detail">{" ".join(map(escaped, notes))}</p>'


def passed(scenario):
    return all(e["ok"] for e in scenario["expectations"])


def extremes(variants, name, factor=1.0):
    values = [v["metrics"].get(name) for v in variants]
    values = [value * factor for value in values if value is not None]
    low, high = (number(float(f"{value:.4g}")) for value in (min(values), max(values)))
    return low if low == high else f"{low} – {high}"


def headline(scenario):
    """The one figure that says most: how long bounded flows took, or how much the others got."""
    bounded = [v for v in scenario["variants"] if v["metrics"].get("last_completion_us") is not None]
    if bounded:
        return f'last completion {extremes(bounded, "last_completion_us")} µs'
    if all(v["metrics"].get("goodput_share") is not None for v in scenario["variants"]):
        return f'goodput {extremes(scenario["variants"], "goodput_share", 100)} % of capacity'
    return ""


def resent_share(scenario):
    shares = [100 * v["metrics"]["resent"] / v["metrics"]["data_packets"]
              for v in scenario["variants"]
              if v["metrics"].get("data_packets") and v["metrics"].get("resent") is not None]
    return f"{max(shares):.2g} %" if shares else "–"


def overview(entries, failed):
    rows = []
    for label, uid, scenario in entries:
        met = sum(e["ok"] for e in scenario["expectations"])
        seeds = max(len(v["runs"]) for v in scenario["variants"])
        wall = sum(run["wall_seconds"] for v in scenario["variants"] for run in v["runs"])
        rows.append(
            f'<tr><td>{verdict(passed(scenario))}</td>'
            f'<td><a href="#{uid}">{escaped(label)}</a></td>'
            f'<td>{escaped(scenario["title"])}</td>'
            f'<td class="n">{met} of {len(scenario["expectations"])}</td>'
            f'<td class="n">{len(scenario["variants"])}{f" × {seeds}" if seeds > 1 else ""}</td>'
            f'<td class="n">{headline(scenario)}</td>'
            f'<td class="n">{resent_share(scenario)}</td>'
            f'<td class="n">{seconds(wall)}</td></tr>')
    for label, uid, _ in failed:
        rows.append(f'<tr><td>{verdict(False)}</td><td><a href="#{uid}">{escaped(label)}</a></td>'
                    '<td>did not run to its end</td><td colspan="5"></td></tr>')
    return ('<div class="wide"><table id="overview"><thead><tr><th>verdict</th><th>scenario</th>'
            '<th>title</th><th class="n">expected</th><th class="n">variants<br>× seeds</th>'
            '<th class="n">in short</th>'
            '<th class="n">most<br>resent</th><th class="n">wall<br>time</th></tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div>')


def page(entries, failed, note):
    """`entries`: (label, id on the page, scenario); `failed`: (label, id, what was printed) of
    those that left no result."""
    good = sum(passed(scenario) for _, _, scenario in entries)
    bad = len(entries) - good + len(failed)
    out = ['<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
           '<meta name="viewport" content="width=device-width, initial-scale=1">'
           f'<title>softmrc scenarios: {good} passed, {bad} failed</title>'
           f'<style>{(HERE / "page.css").read_text()}</style></head><body><main><h1>Scenarios of mrc-sim</h1>'
           f'<p>{good} passed, {bad} failed.{" " + escaped(note) if note else ""}</p>',
           overview(entries, failed)]
    for label, uid, scenario in entries:
        out.append(f'<section id="{uid}"><h2>{escaped(label)} {verdict(passed(scenario))} '
                   f'<a class="up" href="#overview">overview</a></h2>'
                   f'<p>{escaped(scenario["title"])}</p>{remarks(scenario)}'
                   f'{expectation_table(scenario)}{plots(scenario, uid)}{metrics(scenario)}'
                   f'{costs(scenario)}</section>')
    for label, uid, log in failed:
        out.append(f'<section id="{uid}"><h2>{escaped(label)} {verdict(False)} '
                   f'<a class="up" href="#overview">overview</a></h2>'
                   f'<p>Left no result. What it printed last:</p><pre>{escaped(log)}</pre></section>')
    out.append(f'</main><div id="tip" hidden></div><script>{(HERE / "page.js").read_text()}</script>'
               '</body></html>\n')
    return "\n".join(out)

"""Which plots tell what a scenario did. Variants share one where that compares them; where a plot
has several curves by itself, each variant has its own.
"""

import svg
from svg import BYTES, PERCENT, RATE, TIME, Curve, Plot, Span
from text import number, variant_name

MOST_SPANS = 40
MOST_CDF_POINTS = 300


def spans_of(variant, always):
    """Warm-up and faults as stretches of time; what lasts all the run goes to the list `always`."""
    setup = variant["setup"]
    spans = []
    if setup["warm_up_us"] > 0:
        spans.append(Span(0, setup["warm_up_us"], "warm-up"))
    for fault in setup["faults"]:
        kind = fault["kind"].replace("_", " ")
        if fault["at_us"] == 0 and "until_us" not in fault:
            always.append(kind)
            continue
        for turn in range(min(int(fault["times"]), MOST_SPANS)):
            shift = turn * fault["period_us"]
            end = fault["until_us"] + shift if "until_us" in fault else None
            spans.append(Span(fault["at_us"] + shift, end, kind))
    return spans


def shared_spans(variants):
    """Spans for a plot of all variants: those that all of them have, or the others with the name of
    the variant."""
    lists = [(v, [(s.start, s.end, s.label) for s in spans_of(v, [])]) for v in variants]
    spans = []
    for variant, list_ in lists:
        for span in list_:
            everywhere = all(span in other for _, other in lists)
            start, end, label = span
            spans.append((start, end, label if everywhere
                          else f"{label} ({variant_name(variant)})"))
    return [Span(*span) for span in dict.fromkeys(spans)]


def capacity(variants):
    """Payload rate of the busiest ends' links, if it is one for all variants."""
    rates = []
    for variant in variants:
        share = variant["metrics"].get("goodput_share")
        goodput = variant["metrics"].get("goodput_gbps")
        if not share or not goodput:
            return None
        rates.append(goodput / share)
    return rates[0] if max(rates) <= 1.01 * min(rates) else None


def over_time(variants, key, title, detail, units):
    curves = [Curve(variant_name(v), v["series"]["time_us"], v["series"][key], i)
              for i, v in enumerate(variants) if v["series"]["time_us"]]
    return Plot(title, detail, "time", TIME, units, curves, shared_spans(variants),
                named=len(variants) > 1)


def throughput(variants):
    plot = over_time(variants, "goodput_gbps", "Throughput", "payload delivered, all hosts together",
                     RATE)
    plot.limit, plot.limit_label = capacity(variants), "what the hosts' links can carry"
    return plot


def queues(variants):
    return [over_time(variants, "queue_mean_bytes", "Queue depth (mean)",
                      "data waiting per switch port, mean over all ports", BYTES),
            over_time(variants, "queue_max_bytes", "Queue depth (deepest)",
                      "data waiting at the switch port with most", BYTES)]


def completions(variants):
    """Distribution of flow completion times; None where no flow ended."""
    curves = []
    for variant in variants:
        groups = {}
        for flow in variant["flows"]:
            if "end_us" in flow:
                groups.setdefault(flow["group"], []).append(flow["end_us"] - flow["start_us"])
        for group, times in groups.items():
            times.sort()
            count = len(times)
            picked = sorted({round(i * (count - 1) / (MOST_CDF_POINTS - 1))
                             for i in range(MOST_CDF_POINTS)})
            name = variant_name(variant) + (f", {group}" if len(groups) > 1 else "")
            curves.append(Curve(name, [times[0]] + [times[i] for i in picked],
                                [0] + [100 * (i + 1) / count for i in picked], len(curves)))
    if not curves:
        return None
    ended = sum(1 for v in variants for flow in v["flows"] if "end_us" in flow)
    plot = Plot("Flow completion time", f"share of flows that ended within it; {ended} flows",
                "time from a flow's start to its end", TIME, PERCENT, curves, y_high=100,
                steps=True, named=len(variants) > 1, x_high=1.02 * max(c.xs[-1] for c in curves))
    low = min(curve.xs[0] for curve in curves)
    high = max(curve.xs[-1] for curve in curves)
    if low > 0 and high > 20 * low:
        plot.logarithmic, plot.x_low, plot.x_high = True, low / 1.1, high * 1.1
    elif low > 0.6 * high:  # the differences are what is looked at
        margin = max((high - low) * 0.08, high * 0.005)
        plot.x_low, plot.x_high = max(low - margin, 0), high + margin
    return plot


def with_shared_top(plots):
    """The same y axis for plots that stand side by side, unless that flattens some."""
    tops = [svg.y_top(plot) for plot in plots]
    if plots and max(tops) <= 3 * min(tops):
        for plot in plots:
            plot.y_high = max(tops)
    return plots


def of_variant(variant, many):
    return f": {variant_name(variant)}" if many else ""


def one_time_unit(variants):
    """The same for plots that stand side by side."""
    longest = max((v["series"]["time_us"][-1] for v in variants if v["series"]["time_us"]), default=0)
    return [svg.unit_for(longest, TIME)]


def planes(variants):
    plots, unit = [], one_time_unit(variants)
    for variant in variants:
        series = variant["series"]
        if len(series["plane_gbps"]) < 2:
            continue
        curves = [Curve(f"plane {i}", series["time_us"], values, i)
                  for i, values in enumerate(series["plane_gbps"])]
        plots.append(Plot("Throughput per plane" + of_variant(variant, len(variants) > 1),
                          "on the wire, T0s to hosts", "time", unit, RATE, curves,
                          spans_of(variant, [])))
    return with_shared_top(plots)


def ev_states(variants):
    """Plots, and in words what needs none."""
    plots, quiet, unknown, unit = [], [], [], one_time_unit(variants)
    for variant in variants:
        series = variant["series"]
        times = series["time_us"]
        if not times:
            continue
        rows = list(zip(series["ev_bad"], series["ev_skip"], series["ev_good"]))
        if not any(sum(row) for row in rows):
            unknown.append(variant)
            continue
        out = [100 * (bad + skip) / max(bad + skip + good, 1) for bad, skip, good in rows]
        if not any(out):
            quiet.append(variant)
            continue
        keep = svg.thin(times, out)
        xs = [times[i] for i in keep]
        total = [max(sum(rows[i]), 1) for i in keep]
        bad = [100 * rows[i][0] / t for i, t in zip(keep, total)]
        curves = [Curve("ASSUMED_BAD", xs, bad), Curve("SKIP", xs, [out[i] for i in keep], 1),
                  Curve("GOOD", xs, [100] * len(xs), 2)]
        top = max(out) * 1.25
        top = 100 if top > 60 else max(top, 1)
        count = int(max(sum(row) for row in rows))
        plots.append(Plot("EV states" + of_variant(variant, len(variants) > 1),
                          f"of {number(count)} EVs of all senders"
                          + ("" if top == 100 else "; the axis is cut, what lies above is GOOD"),
                          "time", unit, PERCENT, curves, spans_of(variant, []),
                          y_high=top, stacked=True))
    notes = []
    for words, of in (("Every EV was GOOD at every sample", quiet),
                      ("EV states were not sampled", unknown)):
        if of:
            names = ", ".join(variant_name(variant) for variant in of)
            notes.append(words + (f" of {names}." if len(variants) > 1 else "."))
    return plots, notes


def of_scenario(scenario):
    """Its plots, and remarks on what has none."""
    variants = scenario["variants"]
    list_, notes = [], []
    sampled = any(v["series"]["time_us"] for v in variants)
    cdf = completions(variants)
    if sampled:
        list_.append(throughput(variants))
    if cdf:
        list_.append(cdf)
    else:
        notes.append("No flow ended: they last as long as the run, or did not get done.")
    if sampled:
        of_evs, quiet = ev_states(variants)
        list_ += queues(variants) + planes(variants) + of_evs
        notes += quiet
    else:
        notes.append("No series: the scenario sets no run.sample_us.")
    return list_, notes

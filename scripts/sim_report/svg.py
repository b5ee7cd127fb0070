"""Plots as SVG text, for pages that load nothing: lines over time, stacked shares, distributions.

Colours are CSS classes (c0.. for curves, a0.. for areas) that the page defines, so that it can be
light or dark; a reader who sees no colour has dashes from the seventh curve on, and the
values under the pointer, which the page's script reads from the data-* attributes written here.
"""

import html
import math
from dataclasses import dataclass, field

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 20, 40
COLOURS = 6
MOST_BUCKETS = 200  # of a curve; each keeps its lowest and its highest value

RATE = [(1, "Gb/s"), (1000, "Tb/s")]
TIME = [(1, "µs"), (1000, "ms"), (1_000_000, "s")]
BYTES = [(1, "B"), (1024, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB")]
PERCENT = [(1, "%")]


@dataclass
class Curve:
    name: str
    xs: list
    ys: list
    colour: int = 0


@dataclass
class Span:
    """A stretch of the x axis that is shaded; `end` None: to the right edge."""
    start: float
    end: float | None
    label: str


@dataclass
class Plot:
    title: str
    detail: str  # what is measured, in words, without the unit
    x_label: str
    x_units: list
    y_units: list
    curves: list = field(default_factory=list)
    spans: list = field(default_factory=list)
    limit: float | None = None  # a dashed line across
    limit_label: str = ""
    x_low: float = 0
    x_high: float | None = None
    y_high: float | None = None
    steps: bool = False    # values hold until the next point
    stacked: bool = False  # curves lie on each other, the first at the bottom
    logarithmic: bool = False  # the x axis
    named: bool = False  # a single curve has a legend too


def thin(xs, ys, buckets=MOST_BUCKETS):
    """Indices of what to draw of a long series: per bucket its lowest and highest value, so that no
    spike and no gap is lost, and both ends."""
    if len(xs) <= 2 * buckets + 2:
        return range(len(xs))
    keep = {0, len(xs) - 1}
    for b in range(buckets):
        part = range(b * len(xs) // buckets, (b + 1) * len(xs) // buckets)
        keep.add(min(part, key=lambda i: ys[i]))
        keep.add(max(part, key=lambda i: ys[i]))
    return sorted(keep)


def unit_for(high, units):
    """The largest unit of which the highest value is twice as much or more."""
    fitting = [unit for unit in units if high >= 2 * unit[0]]
    return fitting[-1] if fitting else units[0]


def nice_step(span, wanted=5):
    raw = span / wanted
    power = 10 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)


def linear_ticks(low, high, wanted=5):
    step = nice_step(high - low, wanted)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low, high):
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    sparse = math.log10(high / low) > 2.5
    return [m * 10.0 ** d for d in decades for m in ((1,) if sparse else (1, 2, 5))
            if low * 0.999 <= m * 10.0 ** d <= high * 1.001]


def short(value):
    return f"{value:.10g}" if abs(value) < 1e4 else f"{value:,.0f}".replace(",", "\u2009")


class Scale:
    """Data to picture, along one axis."""

    def __init__(self, low, high, start, end, logarithmic=False):
        self.low, self.high, self.start, self.end = low, high, start, end
        self.logarithmic = logarithmic

    def __call__(self, value):
        if self.logarithmic:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def points(curve, plot, x, y):
    pairs = [(curve.xs[i], curve.ys[i]) for i in thin(curve.xs, curve.ys)]
    if plot.steps:
        corners = [(b[0], a[1]) for a, b in zip(pairs, pairs[1:])]
        pairs = [p for both in zip(pairs, corners) for p in both] + pairs[-1:]
    return [(x(a), y(b)) for a, b in pairs]


def joined(pairs):
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)


def y_top(plot):
    values = [value for curve in plot.curves for value in curve.ys]
    high = max(values + ([plot.limit] if plot.limit else []), default=0)
    return high * 1.04 if high > 0 else 1


def svg(plot, uid):
    """The picture, a label for a screen reader included; `uid` is unique on the page."""
    xs = [value for curve in plot.curves for value in curve.xs]
    x_high = plot.x_high if plot.x_high is not None else max(xs)
    x_low = plot.x_low
    if x_high <= x_low:
        x_high = x_low + 1
    high = plot.y_high or y_top(plot)
    x_factor, x_unit = unit_for(x_high, plot.x_units)
    y_factor, y_unit = unit_for(high, plot.y_units)
    x = Scale(x_low, x_high, LEFT, WIDTH - RIGHT, plot.logarithmic)
    y = Scale(0, high, HEIGHT - BOTTOM, TOP)
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    out = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
           f'aria-label="{html.escape(plot.title)}: {html.escape(plot.detail)}" '
           f'data-x="{x_low},{x_high},{x_factor},{int(plot.logarithmic)}" data-xunit="{x_unit}" '
           f'data-y="{high},{y_factor}" data-yunit="{y_unit}" '
           f'data-box="{LEFT},{right},{TOP},{floor}"{" data-stacked" if plot.stacked else ""}>',
           f'<clipPath id="{uid}"><rect x="{LEFT}" y="{TOP - 1}" width="{right - LEFT}" '
           f'height="{floor - TOP + 2}"/></clipPath>']

    for span in plot.spans:
        begin = x(max(span.start, x_low))
        end = min(x(span.end), right) if span.end is not None else right
        if begin >= right:
            continue
        out.append(f'<rect class="span" x="{begin:.1f}" y="{TOP}" '
                   f'width="{max(end - begin, 1):.1f}" height="{floor - TOP}">'
                   f'<title>{html.escape(span.label)}</title></rect>')
    for tick in linear_ticks(0, high / y_factor):
        at = y(tick * y_factor)
        out.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>'
                   f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{short(tick)}</text>')
    ticks = log_ticks(x_low / x_factor, x_high / x_factor) if plot.logarithmic else \
        linear_ticks(x_low / x_factor, x_high / x_factor, 7)
    for tick in ticks:
        at = x(tick * x_factor)
        out.append(f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{floor}" y2="{floor + 4}"/>'
                   f'<text x="{at:.1f}" y="{floor + 17}" text-anchor="middle">{short(tick)}</text>')

    drawn = [points(curve, plot, x, y) for curve in plot.curves]
    out.append(f'<g clip-path="url(#{uid})">')
    if plot.stacked:
        out += areas(plot, drawn, floor)
    else:
        for curve, pairs in zip(plot.curves, drawn):
            out.append(f'<polyline class="line c{curve.colour % COLOURS} '
                       f'd{curve.colour // COLOURS}" points="{joined(pairs)}" '
                       f'data-name="{html.escape(curve.name)}"/>')
            if len(pairs) == 1:
                out.append(f'<circle class="dot c{curve.colour % COLOURS}" '
                           f'cx="{pairs[0][0]:.1f}" cy="{pairs[0][1]:.1f}" r="3"/>')
    if plot.limit and plot.limit <= high:
        at = y(plot.limit)
        out.append(f'<line class="limit" x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
    out.append('</g>')
    if plot.limit and plot.limit <= high:
        out.append(f'<text class="halo" x="{right - 4}" y="{y(plot.limit) + 14:.1f}" '
                   f'text-anchor="end">{html.escape(plot.limit_label)}</text>')
    last = -math.inf
    for span in sorted(plot.spans, key=lambda s: s.start):
        at = x(max(span.start, x_low))
        if last < at < right - 30:  # no label over another
            out.append(f'<text x="{at:.1f}" y="{TOP - 6}">{html.escape(span.label)}</text>')
            last = at + 7 * len(span.label)
    out.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{floor}" y2="{floor}"/>'
               f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 5}" text-anchor="middle">'
               f'{html.escape(plot.x_label)}, {x_unit}</text></svg>')
    return "".join(out), y_unit


def areas(plot, drawn, floor):
    out, below = [], None
    for curve, pairs in zip(plot.curves, drawn):
        under = below or [(pairs[0][0], floor), (pairs[-1][0], floor)]
        out.append(f'<polygon class="area a{curve.colour}" '
                   f'points="{joined(pairs + list(reversed(under)))}"/>'
                   f'<polyline class="edge" points="{joined(pairs)}" '
                   f'data-name="{html.escape(curve.name)}"/>')
        below = pairs
    return out


def legend(plot):
    """Names beside the colours; a word that all begin with ("plane 0") stands once."""
    if len(plot.curves) < 2 and not plot.named:
        return ""
    words = {curve.name.partition(" ")[0] for curve in plot.curves if " " in curve.name}
    prefix = words.pop() + " " if len(words) == 1 else None
    items = []
    for i, curve in enumerate(plot.curves):
        if plot.stacked:
            key = f'<rect class="area a{curve.colour}" width="16" height="8"/>'
        else:
            key = (f'<line class="line c{curve.colour % COLOURS} d{curve.colour // COLOURS}" '
                   'x1="0" x2="16" y1="4" y2="4"/>')
        name = curve.name.removeprefix(prefix) if prefix and i > 0 else curve.name
        items.append(f'<span><svg width="16" height="8" aria-hidden="true">{key}</svg>'
                     f'{html.escape(name)}</span>')
    return f'<div class="legend">{"".join(items)}</div>'


def figure(plot, uid):
    picture, unit = svg(plot, uid)
    return (f'<figure><figcaption><b>{html.escape(plot.title)}</b>, {unit} '
            f'<span class="detail">{html.escape(plot.detail)}</span></figcaption>'
            f'{legend(plot)}{picture}</figure>')

"""Numbers and names as the page shows them."""

import html
import math


def number(value):
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    if value == math.floor(value) and size < 1e15:
        return f"{value:,.0f}".replace(",", "\u2009")
    if size >= 1000:
        return f"{value:,.1f}".replace(",", "\u2009")
    return f"{value:.4g}"


def seconds(value):
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"


def escaped(text):
    return html.escape(str(text))


def variant_name(variant):
    return variant["variant"] or "run"

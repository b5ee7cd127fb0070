"""The chart of a benchmark run: how far each figure is from its bar, as an SVG."""

from xml.sax.saxutils import escape

WIDTH, ROW, TOP, LABELS = 900, 26, 66, 330
RIGHT = 200  # for the numbers behind the bars
MET, MISSED = "#2a7f62", "#b5533c"


def svg(results, title):
    """One horizontal bar per figure that has one to meet; longer than twice is cut."""
    rows = [row for row in results if "bar" in row]
    height = TOP + ROW * len(rows) + 14
    span = WIDTH - LABELS - RIGHT
    goal = LABELS + span / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="24" font-size="16">{escape(title)}</text>',
        f'<text x="{goal}" y="48" text-anchor="middle" fill="#555">the bar</text>',
    ]
    for i, row in enumerate(rows):
        y = TOP + i * ROW
        length = span * min(row["reached"], 2) / 2
        colour = MET if row["met"] else MISSED
        measured = f"{row['ratio']:.2f}" if "ratio" in row else f"{row['value']:.4g} {row['unit']}"
        parts += [
            f'<text x="{LABELS - 10}" y="{y + 14}" text-anchor="end">{escape(row["name"])}</text>',
            f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="18" fill="{colour}"/>',
            f'<text x="{LABELS + span + 8}" y="{y + 14}">{escape(measured)}'
            f'<tspan fill="#555"> ({row["reached"] * 100:.0f} %)</tspan></text>',
        ]
    parts += [f'<line x1="{goal}" y1="54" x2="{goal}" y2="{height - 10}" stroke="#333" '
              'stroke-dasharray="4 3"/>', "</svg>"]
    return "\n".join(parts) + "\n"

// Of sim_report's page: the values of all curves where the pointer is, read back from the curves
// themselves and the plot's data-* attributes.
'use strict';
const tip = document.getElementById('tip');
const numbers = (text) => text.split(',').map(Number);
const shown = (value) => Number(value.toPrecision(4)).toString();

function nearest(line, at) {
  let best = null;
  for (const point of line.points)
    if (best === null || Math.abs(point.x - at) < Math.abs(best.x - at)) best = point;
  return best;
}

for (const svg of document.querySelectorAll('figure > svg')) {
  const [left, right, top, floor] = numbers(svg.dataset.box);
  const [low, high, xFactor, logarithmic] = numbers(svg.dataset.x);
  const [yHigh, yFactor] = numbers(svg.dataset.y);
  const stacked = 'stacked' in svg.dataset;
  const cursor = svg.querySelector('line.axis').cloneNode();
  cursor.setAttribute('class', 'cursor');
  const hide = () => { tip.hidden = true; cursor.remove(); };
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('pointermove', (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      svg.getScreenCTM().inverse()).x;
    if (at < left || at > right) return hide();
    const share = (at - left) / (right - left);
    const x = logarithmic ? low * Math.pow(high / low, share) : low + share * (high - low);
    const rows = [shown(x / xFactor) + ' ' + svg.dataset.xunit];
    let below = 0;
    for (const line of svg.querySelectorAll('polyline[data-name]')) {
      const value = (floor - nearest(line, at).y) / (floor - top) * yHigh;
      rows.push(line.dataset.name + '  ' + shown((value - below) / yFactor) + ' ' +
                svg.dataset.yunit);
      if (stacked) below = value;
    }
    tip.textContent = rows.join('\n');
    tip.hidden = false;
    tip.style.left = Math.min(event.pageX + 14,
                              window.innerWidth + window.scrollX - tip.offsetWidth - 8) + 'px';
    tip.style.top = event.pageY + 14 + 'px';
    for (const [name, value] of Object.entries({x1: at, x2: at, y1: top, y2: floor}))
      cursor.setAttribute(name, value);
    svg.append(cursor);
  });
}

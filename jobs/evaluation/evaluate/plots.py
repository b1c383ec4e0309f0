"""Plots as inline SVG, without a library: bars, and points joined by lines on logarithmic axes.

Every text is escaped; every mark has a tooltip with its figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

#: Distinct for most colour-blind readers, on white and on black; one per series, again and again.
_LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#6a3d9a", "#444444")
_DARK = ("#4aa8e8", "#f58442", "#2cc79b", "#e8a9cb", "#cfae3c", "#a6dbfb", "#b294ea", "#b9bec6")
#: The looks of plots, beside `jobs.pages.STYLE`, whose names for colours they use.
STYLE = f"""
:root{{--band:#f0c36d;{"".join(f"--c{i}:{colour};" for i, colour in enumerate(_LIGHT))}}}
@media(prefers-color-scheme:dark){{:root{{--band:#6e5417;{"".join(f"--c{i}:{colour};" for i, colour in enumerate(_DARK))}}}}}
{"".join(f".c{i}{{--c:var(--c{i})}}" for i in range(len(_LIGHT)))}
svg{{max-width:100%;height:auto;display:block;margin:.6em 0;padding:.4rem;background:var(--card);border-radius:6px}}
svg text{{font-size:12px;fill:var(--ink)}} svg .axis{{fill:var(--soft)}} svg .none{{fill:var(--bad)}} svg .head{{font-weight:600}}
svg .beside{{stroke:var(--card);stroke-width:3;paint-order:stroke}} svg line{{stroke:var(--line)}}
svg rect,svg circle{{fill:var(--c)}} svg .rest{{opacity:.4}} svg .band{{fill:var(--band)}}
svg polyline{{fill:none;stroke:var(--c);stroke-width:1.8}} .key{{background:var(--c)}}
"""


@dataclass(frozen=True)
class Bar:
    """A bar: ``value`` (None: none, ``note`` says why), ``shown`` beside it, ``colour`` an
    index; ``rest`` is drawn before it, fainter, so that the two add up.
    """

    label: str
    value: float | None
    shown: str
    colour: int = 0
    note: str = ""
    rest: float = 0.0


@dataclass(frozen=True)
class BarGroup:
    """Bars under a heading; ``low`` … ``high``: a published range, drawn as a band behind them."""

    title: str
    bars: tuple[Bar, ...]
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """Points (x, y, tooltip), joined in the order of x."""

    name: str
    points: tuple[tuple[float, float, str], ...]
    colour: int = 0


def bars(
    groups: Sequence[BarGroup],
    *,
    unit: str,
    title: str,
    logarithmic: bool = False,
    width: int = 860,
) -> str:
    """Horizontal bars, group by group; ``unit``: of the values; ``title``: for readers who do
    not see the picture.
    """
    shown = [group for group in groups if group.bars]
    values = [
        bar.value + (0 if logarithmic else bar.rest)
        for group in shown
        for bar in group.bars
        if bar.value is not None
    ]
    values += [group.high for group in shown if group.high is not None]
    if not shown or not values:
        return ""
    left, right, row, head = 250, 150, 22, 26
    scale = (
        _log_scale(values, left, width - right)
        if logarithmic
        else _linear_scale(values, left, width - right)
    )
    height = sum(head + row * len(group.bars) + 8 for group in shown) + 34
    parts: list[str] = []
    y = 6
    for tick in scale.ticks:
        x = scale.at(tick)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{height - 32}"/>')
        parts.append(_label(x, height - 16, _short(tick), "middle", "axis"))
    parts.append(_label((left + width - right) / 2, height - 2, unit, "middle", "axis"))
    for group in shown:
        parts.append(f'<text x="0" y="{y + 15}" class="head">{escape(group.title)}</text>')
        y += head
        if group.low is not None and group.high is not None:
            x1, x2 = scale.at(group.low), scale.at(group.high)
            tip = escape(
                f"published: {group.low:g}"
                + (f" to {group.high:g}" if group.high != group.low else "")
            )
            size = f'x="{x1 - 1.5:.1f}" y="{y - 2}" width="{x2 - x1 + 3:.1f}" height="{row * len(group.bars)}"'
            parts.append(f'<rect {size} class="band"><title>{tip}</title></rect>')
        for bar in group.bars:
            parts += _bar(bar, y, left, scale, logarithmic)
            y += row
        y += 8
    return _svg(width, height, title, parts)


def _bar(bar: Bar, y: float, left: float, scale: _Scale, logarithmic: bool) -> list[str]:
    parts = [_label(left - 8, y + 13, bar.label, "end")]
    if bar.value is None:
        parts.append(_label(left + 4, y + 13, bar.note or "no answer", "start", "none"))
        return parts
    start = left if logarithmic else scale.at(0)
    tip = escape(f"{bar.label}: {bar.shown}{f' ({bar.note})' if bar.note else ''}")
    colour = colour_class(bar.colour)
    if bar.rest and not logarithmic:
        middle = scale.at(bar.rest)
        parts.append(_box(start, middle, y, f"{colour} rest", tip))
        start = middle
    end = scale.at(bar.value + (0 if logarithmic else bar.rest))
    parts.append(_box(start, max(end, start + 1.5), y, colour, tip))
    parts.append(
        f'<text x="{max(end, start + 1.5) + 5:.1f}" y="{y + 14}" class="beside">{escape(bar.shown)}</text>'
    )
    return parts


def _box(start: float, end: float, y: float, css: str, tip: str) -> str:
    width = max(0.0, end - start)
    return f'<rect x="{start:.1f}" y="{y + 2}" width="{width:.1f}" height="15" class="{css}"><title>{tip}</title></rect>'


def colour_class(index: int) -> str:
    """The CSS class of what has the colour of a series."""
    return f"c{index % len(_LIGHT)}"


def lines(
    series: Sequence[Series], *, x: str, y: str, title: str, width: int = 860, height: int = 330
) -> str:
    """Points over logarithmic axes called ``x`` and ``y``, with a legend."""
    drawn = [s for s in series if s.points]
    points = [(px, py) for s in drawn for px, py, _ in s.points if px > 0 and py > 0]
    if not points:
        return ""
    left, right, top, bottom = 62, 300, 12, 44
    across = _log_scale([px for px, _ in points], left, width - right)
    up = _log_scale([py for _, py in points], height - bottom, top)
    parts = []
    for tick in across.ticks:
        at = across.at(tick)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{height - bottom}"/>')
        parts.append(_label(at, height - bottom + 16, _short(tick), "middle", "axis"))
    for tick in up.ticks:
        at = up.at(tick)
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(_label(left - 6, at + 4, _short(tick), "end", "axis"))
    parts.append(_label((left + width - right) / 2, height - 6, x, "middle", "axis"))
    parts.append(
        f'<text transform="translate(13 {(top + height - bottom) / 2:.0f}) rotate(-90)" text-anchor="middle">'
    )
    parts.append(f"{escape(y)}</text>")
    for number, one in enumerate(drawn):
        colour = colour_class(one.colour)
        dash = f' stroke-dasharray="{("", "6 3", "2 3")[one.colour // len(_LIGHT) % 3]}"'
        placed = [
            (across.at(px), up.at(py), tip)
            for px, py, tip in sorted(one.points)
            if px > 0 and py > 0
        ]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py, _ in placed)
        parts.append(f'<polyline points="{path}" class="{colour}"{dash}/>')
        parts += [
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" class="{colour}"><title>{escape(f"{one.name}: {tip}")}</title></circle>'
            for px, py, tip in placed
        ]
        at = top + 14 + 18 * number
        parts.append(f'<circle cx="{width - right + 22}" cy="{at - 4}" r="4" class="{colour}"/>')
        parts.append(_label(width - right + 32, at, one.name, "start"))
    return _svg(width, max(height, top + 24 + 18 * len(drawn)), title, parts)


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    logarithmic: bool

    def at(self, value: float) -> float:
        if self.logarithmic:
            share = (math.log10(max(value, self.low)) - math.log10(self.low)) / (
                math.log10(self.high) - math.log10(self.low)
            )
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def _linear_scale(values: Sequence[float], start: float, end: float) -> _Scale:
    top = max(1e-9, *values)
    step = 10 ** math.floor(math.log10(top))
    step = next(s for s in (step / 5, step / 2, step, step * 2) if top / s <= 6)
    many = math.ceil(top / step - 1e-9)
    return _Scale(0.0, many * step, start, end, tuple(i * step for i in range(many + 1)), False)


def _log_scale(values: Sequence[float], start: float, end: float) -> _Scale:
    positive = [value for value in values if value > 0]
    first, last = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    last = max(last, first + 1)
    return _Scale(
        10.0**first, 10.0**last, start, end, tuple(10.0**i for i in range(first, last + 1)), True
    )


def _short(value: float) -> str:
    """A number for an axis.

    >>> [_short(v) for v in (0.001, 0.5, 20.0, 1500, 2000000)]
    ['0.001', '0.5', '20', '1.5k', '2M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _label(x: float, y: float, text: str, anchor: str, css: str = "") -> str:
    look = f' class="{css}"' if css else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}>{escape(text)}</text>'


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )

"""Lay out plots for an HTML page: bars, and points joined by lines on logarithmic axes.

`jobs/templates/evaluation/plots.html` draws them as inline SVG.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

#: How many colours the style has for series; one per series, again and again.
COLOURS = 8
_DASHES = ("", "6 3", "2 3")


@dataclass(frozen=True)
class Bar:
    """Horizontal bar of a plot, with label, value and text.

    value: its length; None if there is none, ``note`` says why
    text: shown beside the bar
    colour: index of the colour
    first_part: length of a fainter bar before this one, so that both add up
    """

    label: str
    value: float | None
    text: str
    colour: int = 0
    note: str = ""
    first_part: float = 0.0


@dataclass(frozen=True)
class BarGroup:
    """Bars under a heading; a published range from ``low`` to ``high`` is drawn as a band behind
    them.
    """

    title: str
    bars: tuple[Bar, ...]
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """Data series of a plot: points (x, y, tooltip), joined by lines in the order of x."""

    name: str
    points: tuple[tuple[float, float, str], ...]
    colour: int = 0


@dataclass(frozen=True)
class PlotBox:
    """Rectangle of a plot in pixels: a bar, or the band of a published range behind bars.

    css, tip: its CSS class and tooltip
    """

    x: float
    y: float
    width: float
    height: float
    css: str
    tip: str


@dataclass(frozen=True)
class PlotText:
    """Text of a plot, in pixels; ``anchor``: whether its start, middle or end is at ``x``."""

    x: float
    y: float
    content: str
    anchor: str = "start"
    css: str = ""
    is_vertical: bool = False


@dataclass
class Plot:
    """Laid-out plot of ``width`` × ``height`` pixels.

    title: read to readers who do not see the picture
    lines: of the grid, (x1, x2, y1, y2)
    paths: lines that join the points of a series: points, CSS class, SVG dash pattern
    dots: at data points and in the legend: (x, y, CSS class, tooltip)
    """

    width: int
    height: int
    title: str
    lines: list[tuple[float, float, float, float]] = field(default_factory=list)
    boxes: list[PlotBox] = field(default_factory=list)
    paths: list[tuple[list[tuple[float, float]], str, str]] = field(default_factory=list)
    dots: list[tuple[float, float, str, str]] = field(default_factory=list)
    texts: list[PlotText] = field(default_factory=list)


def lay_out_bars(
    groups: Sequence[BarGroup],
    *,
    unit: str,
    title: str,
    logarithmic: bool = False,
    width: int = 860,
) -> Plot | None:
    """Lay out a plot of horizontal bars, group by group; None if there is nothing to show.

    unit: of all values
    """
    shown = [group for group in groups if group.bars]
    values = [
        bar.value + (0 if logarithmic else bar.first_part)
        for group in shown
        for bar in group.bars
        if bar.value is not None
    ]
    values += [group.high for group in shown if group.high is not None]
    if not shown or not values:
        return None
    left, right, row, head = 250, 150, 22, 26
    scale = (
        _make_log_scale(values, left, width - right)
        if logarithmic
        else _make_linear_scale(values, left, width - right)
    )
    height = sum(head + row * len(group.bars) + 8 for group in shown) + 34
    plot = Plot(width, height, title)
    for tick in scale.ticks:
        x = scale.pixel_at(tick)
        plot.lines.append((x, x, 4, height - 32))
        plot.texts.append(PlotText(x, height - 16, _format_axis_number(tick), "middle", "axis"))
    plot.texts.append(PlotText((left + width - right) / 2, height - 2, unit, "middle", "axis"))
    y = 6
    for group in shown:
        plot.texts.append(PlotText(0, y + 15, group.title, css="head"))
        y += head
        if group.low is not None and group.high is not None:
            x1, x2 = scale.pixel_at(group.low), scale.pixel_at(group.high)
            end = f" to {group.high:g}" if group.high != group.low else ""
            band = PlotBox(
                x1 - 1.5,
                y - 2,
                x2 - x1 + 3,
                row * len(group.bars),
                "band",
                f"published: {group.low:g}{end}",
            )
            plot.boxes.append(band)
        for bar in group.bars:
            _add_bar(plot, bar, y, scale)
            y += row
        y += 8
    return plot


def _add_bar(plot: Plot, bar: Bar, y: float, scale: _AxisScale) -> None:
    """Add a bar with its label and value to a plot, at height ``y`` in pixels."""
    left = scale.start
    plot.texts.append(PlotText(left - 8, y + 13, bar.label, "end"))
    if bar.value is None:
        plot.texts.append(PlotText(left + 4, y + 13, bar.note or "no answer", css="none"))
        return
    start = left
    tip = f"{bar.label}: {bar.text}{f' ({bar.note})' if bar.note else ''}"
    colour = colour_css_class(bar.colour)
    rest = 0.0 if scale.logarithmic else bar.first_part
    if rest:
        start = scale.pixel_at(rest)
        plot.boxes.append(PlotBox(left, y + 2, start - left, 15, f"{colour} rest", tip))
    end = max(scale.pixel_at(bar.value + rest), start + 1.5)
    plot.boxes.append(PlotBox(start, y + 2, end - start, 15, colour, tip))
    plot.texts.append(PlotText(end + 5, y + 14, bar.text, css="beside"))


def colour_css_class(index: int) -> str:
    """CSS class for the colour with this index."""
    return f"c{index % COLOURS}"


def lay_out_lines(
    series: Sequence[Series], *, x: str, y: str, title: str, width: int = 860, height: int = 330
) -> Plot | None:
    """Lay out a line plot with logarithmic axes and a legend; None if there is nothing to show.

    x, y: titles of the axes
    """
    drawn = [s for s in series if s.points]
    points = [(px, py) for s in drawn for px, py, _ in s.points if px > 0 and py > 0]
    if not points:
        return None
    left, right, top, bottom = 62, 300, 12, 44
    across = _make_log_scale([px for px, _ in points], left, width - right)
    up = _make_log_scale([py for _, py in points], height - bottom, top)
    plot = Plot(width, max(height, top + 24 + 18 * len(drawn)), title)
    for tick in across.ticks:
        at = across.pixel_at(tick)
        plot.lines.append((at, at, top, height - bottom))
        plot.texts.append(
            PlotText(at, height - bottom + 16, _format_axis_number(tick), "middle", "axis")
        )
    for tick in up.ticks:
        at = up.pixel_at(tick)
        plot.lines.append((left, width - right, at, at))
        plot.texts.append(PlotText(left - 6, at + 4, _format_axis_number(tick), "end", "axis"))
    plot.texts += [
        PlotText((left + width - right) / 2, height - 6, x, "middle", "axis"),
        PlotText(13, (top + height - bottom) / 2, y, "middle", is_vertical=True),
    ]
    for number, one in enumerate(drawn):
        colour = colour_css_class(one.colour)
        placed = [
            (across.pixel_at(px), up.pixel_at(py), colour, f"{one.name}: {tip}")
            for px, py, tip in sorted(one.points)
            if px > 0 and py > 0
        ]
        dash = _DASHES[one.colour // COLOURS % len(_DASHES)]
        plot.paths.append(([(px, py) for px, py, *_ in placed], colour, dash))
        at = top + 14 + 18 * number
        plot.dots += [*placed, (width - right + 22, at - 4, colour, "")]
        plot.texts.append(PlotText(width - right + 32, at, one.name))
    return plot


@dataclass(frozen=True)
class _AxisScale:
    """Scale of a plot's axis: maps values from ``low`` to ``high`` to pixels from ``start`` to
    ``end``.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    logarithmic: bool

    def pixel_at(self, value: float) -> float:
        """Pixel position of a value on the axis."""
        if self.logarithmic:
            share = (math.log10(max(value, self.low)) - math.log10(self.low)) / (
                math.log10(self.high) - math.log10(self.low)
            )
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def _make_linear_scale(values: Sequence[float], start: float, end: float) -> _AxisScale:
    """Make a linear scale from 0 to at least the largest value, with at most six intervals between
    round ticks.
    """
    top = max(1e-9, *values)
    step = 10 ** math.floor(math.log10(top))
    step = next(s for s in (step / 5, step / 2, step, step * 2) if top / s <= 6)
    many = math.ceil(top / step - 1e-9)
    return _AxisScale(0.0, many * step, start, end, tuple(i * step for i in range(many + 1)), False)


def _make_log_scale(values: Sequence[float], start: float, end: float) -> _AxisScale:
    """Make a logarithmic scale between powers of ten around the values."""
    positive = [value for value in values if value > 0]
    first, last = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    last = max(last, first + 1)
    return _AxisScale(
        10.0**first, 10.0**last, start, end, tuple(10.0**i for i in range(first, last + 1)), True
    )


def _format_axis_number(value: float) -> str:
    """Format a number at an axis tick, with k for thousands and M for millions.

    >>> [_format_axis_number(v) for v in (0.001, 0.5, 20.0, 1500, 2000000)]
    ['0.001', '0.5', '20', '1.5k', '2M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"

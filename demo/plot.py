"""Draws the delays of the year: a line for each airport, and below every hour of every day."""

from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

DAYS: Final = 365
FIRST_HOUR: Final = 5
"""The first scheduled departure of a day; nothing leaves before."""
_AIRPORTS: Final = {
    "EWR": ("Newark", "#d1495b"),
    "JFK": ("Kennedy", "#00798c"),
    "LGA": ("LaGuardia", "#edae49"),
}
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_STARTS: Final = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])
_WEEK: Final = 7
_INK: Final = "#333333"


def draw(hours: Any, file: Path) -> None:
    """Draw an Arrow table of hours (see `pipelines/hourly.py`) into a PNG file."""
    figure = Figure(figsize=(12, 7.2), dpi=120, facecolor="white", layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    figure.suptitle(
        "Late departures from New York, 2013", x=0.012, ha="left", fontsize=17, fontweight="bold", color=_INK
    )
    _draw_lines(above, hours)
    image = _draw_hours(below, hours)
    bar = figure.colorbar(image, ax=below, pad=0.012, aspect=14, extend="max", ticks=[0, 10, 20, 40, 60, 90])
    bar.set_label("mean delay, minutes", color=_INK)
    bar.outline.set_visible(False)
    figure.savefig(file)


def weekly_means(hours: Any, origin: str) -> Any:
    """The mean delay in minutes over seven days around each day of the year."""
    days, values = _of(hours, "origin") == origin, np.ones(_WEEK)
    delay, departed = (
        np.convolve(np.bincount(_day(hours)[days], _of(hours, name)[days], DAYS), values, "same")
        for name in ("delay", "departed")
    )
    return delay / np.maximum(departed, 1)


def hourly_means(hours: Any) -> Any:
    """The mean delay in minutes by hour (rows, from FIRST_HOUR) and day; nan where nothing departed."""
    place = _of(hours, "hour").astype(int) * DAYS + _day(hours)
    delay, departed = (
        np.bincount(place, _of(hours, name), 24 * DAYS).reshape(24, DAYS) for name in ("delay", "departed")
    )
    means = np.full(delay.shape, np.nan)
    np.divide(delay, departed, out=means, where=departed > 0)
    return means[FIRST_HOUR:]


def _draw_lines(axes: Any, hours: Any) -> None:
    for origin, (name, colour) in _AIRPORTS.items():
        means = weekly_means(hours, origin)
        axes.plot(np.arange(DAYS), means, color=colour, linewidth=2.2, label=f"{name} ({origin})")
    axes.axhline(0, color=_INK, linewidth=0.8)
    axes.set_ylabel("mean delay, minutes", color=_INK)
    axes.set_title("Mean of seven days, by airport", loc="left", fontsize=11, color=_INK)
    axes.legend(frameon=False, ncols=3, loc="upper right", labelcolor=_INK)
    axes.grid(color="#e3e3e3", linewidth=0.8)
    _tidy(axes)


def _draw_hours(axes: Any, hours: Any) -> Any:
    means = hourly_means(hours)
    image = axes.imshow(
        means,
        aspect="auto",
        origin="lower",
        extent=(-0.5, DAYS - 0.5, FIRST_HOUR, 24),
        cmap="magma_r",
        norm=PowerNorm(0.6, vmin=0, vmax=90, clip=True),
        interpolation="nearest",
    )
    axes.set_yticks([6, 9, 12, 15, 18, 21], ["6:00", "9:00", "12:00", "15:00", "18:00", "21:00"])
    axes.set_title(
        "Every hour of every day, all airports; white: no departure", loc="left", fontsize=11, color=_INK
    )
    axes.set_xticks(_STARTS, _MONTHS, ha="left")
    axes.set_xlim(-0.5, DAYS - 0.5)
    _tidy(axes)
    return image


def _tidy(axes: Any) -> None:
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=_INK, length=0)


def _of(hours: Any, name: str) -> Any:
    return hours[name].to_numpy()


def _day(hours: Any) -> Any:
    """The day of the year, from 0."""
    return (_of(hours, "day").astype("datetime64[D]") - np.datetime64("2013-01-01")).astype(int)

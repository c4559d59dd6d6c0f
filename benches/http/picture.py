#!/usr/bin/env python3
"""Draws the figures of `many.py` as docs/concepts/scale.svg (needs matplotlib).

    python3 benches/http/picture.py FIGURES.json PICTURE.svg
"""

import json
import sys

import matplotlib

matplotlib.use("svg")
# Text stays text, and the same figures give the same file.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "catalogql", "font.size": 9})

from matplotlib import pyplot  # noqa: E402

STARTED = {
    "anonymous memory (MiB)": "anonymous memory, MiB",
    "ready after a restart (s)": "ready, s",
    "CPU time of a restart (s)": "CPU until at rest, s",
}

REQUESTS = [
    "look-up of a package",
    "first 50 packages by name",
    "first 50 packages by relevance",
    "facets",
    "totals",
]


def panel(axes, title):
    axes.set_title(title, loc="left")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("catalogs")
    axes.grid(True, which="major", linewidth=0.4)
    axes.spines[["top", "right"]].set_visible(False)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        measured = json.load(file)
    counts = [figures["catalogs"] for figures in measured]

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    panel(left, "a start with a full store")
    for label, name in STARTED.items():
        left.plot(counts, [figures["started again"][name] for figures in measured], marker="o", label=label)
    left.plot(counts, [figures["store"]["indexes, MiB"] for figures in measured], marker="o", label="indexes on disk (MiB)")
    panel(right, "a request over HTTP (µs, median)")
    # A request that is refused has no figure, and no point.
    for name in REQUESTS:
        right.plot(counts, [figures["started again"][f"{name}, µs"] for figures in measured], marker="o", label=name)
    right.set_ylim(100, 10_000)
    for axes in (left, right):
        axes.set_xticks(counts, counts)
        axes.minorticks_off()
        axes.legend(frameon=False)
    figure.savefig(sys.argv[2], metadata={"Date": None, "Creator": None})


main()

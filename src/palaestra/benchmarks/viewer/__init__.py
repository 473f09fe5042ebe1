"""One self-contained HTML page on which a person reads trajectories step by step."""

from palaestra.benchmarks.viewer.page import render_page

__all__ = ["render_page"]

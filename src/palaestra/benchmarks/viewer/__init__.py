"""One self-contained HTML page for reading trajectories step by step."""

from palaestra.benchmarks.viewer.page import page_colours, render_page

__all__ = ["page_colours", "render_page"]

"""The record of results as pages: rendered here, read without scripts, live, for this machine or behind keys."""

from palaestra.benchmarks.dashboard.app import make_dashboard_app
from palaestra.benchmarks.dashboard.dashboard import Dashboard

__all__ = ["Dashboard", "make_dashboard_app"]

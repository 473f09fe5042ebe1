"""The record of results as live pages without scripts, for this machine or behind keys."""

from palaestra.benchmarks.dashboard.app import make_dashboard_app
from palaestra.benchmarks.dashboard.dashboard import Dashboard

__all__ = ["Dashboard", "make_dashboard_app"]

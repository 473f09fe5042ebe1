"""Evaluation of agents on suites: with intervals, resumable, and with faults kept apart from failures."""

"""The same work through a server of the kind that synthesis pipelines give their worlds."""

from palaestra.benchmarks.speed.server.measure import NAME, is_contained, server_arguments, server_tasks, time_server

__all__ = ["NAME", "is_contained", "server_arguments", "server_tasks", "time_server"]

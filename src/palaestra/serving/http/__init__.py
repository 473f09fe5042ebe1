"""The session core over HTTP: routes, authentication, bounded bodies, metrics, logs and a clean shutdown."""

from palaestra.serving.http.app import make_app
from palaestra.serving.http.requests import HttpLimits, caller_of, check_local_host, read_body
from palaestra.serving.http.run import is_loopback, make_server, run_app, serve
from palaestra.serving.http.server import WorldServer
from palaestra.serving.log_lines import JsonFormatter, log_to

__all__ = [
    "HttpLimits",
    "JsonFormatter",
    "WorldServer",
    "caller_of",
    "check_local_host",
    "is_loopback",
    "log_to",
    "make_app",
    "make_server",
    "read_body",
    "run_app",
    "serve",
]

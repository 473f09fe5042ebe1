"""The session core over HTTP: routes, keys at the door, bounded bodies, metrics, logs and a clean end."""

from palaestra.serving.http.app import make_app
from palaestra.serving.http.log_lines import JsonFormatter, log_to
from palaestra.serving.http.requests import HttpLimits
from palaestra.serving.http.run import is_loopback, make_server, serve
from palaestra.serving.http.server import WorldServer

__all__ = ["HttpLimits", "JsonFormatter", "WorldServer", "is_loopback", "log_to", "make_app", "make_server", "serve"]

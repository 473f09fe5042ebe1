"""Structured logs: one JSON object per line with a fixed set of fields; no keys, bodies or addresses.

For an exception, the log has its class and where it was raised. Its text is left out, because it may quote a request.
"""

import logging
import re
from datetime import UTC, datetime
from traceback import extract_tb
from typing import Any, TextIO

import orjson

LOGGERS = ("palaestra.serving", "uvicorn.error", "mcp")
"""The loggers whose records a server writes."""
_PLACEHOLDER = re.compile(r"%[#0 +-]*\d*(?:\.\d+)?[a-zA-Z]")
_FIELDS = (
    *("operation", "status", "key_id", "owner", "items", "errors", "ms", "bytes", "code", "count", "worker", "reason"),
)


class JsonFormatter(logging.Formatter):
    """Writes a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        # `msg` and not `getMessage()`: arguments of other libraries' messages may hold anything.
        event = _PLACEHOLDER.sub("...", str(record.msg))
        line: dict[str, Any] = {"time": time, "level": record.levelname.lower(), "event": event}
        line |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            frames = extract_tb(record.exc_info[2])
            line["error"] = record.exc_info[0].__name__
            line["trace"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-12:]]
        return orjson.dumps(line, option=orjson.OPT_NON_STR_KEYS).decode()


def log_to(stream: TextIO, *, level: int = logging.INFO) -> logging.Handler:
    """Write the logs of the server to a stream; return the handler, so that it can be removed."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        # Warnings of the package `mcp` may quote a request.
        logger.setLevel(max(level, logging.ERROR) if name == "mcp" else level)
        logger.propagate = False
    return handler

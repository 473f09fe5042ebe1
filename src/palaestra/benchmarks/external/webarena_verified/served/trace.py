"""What passed over the network, in the form of a HAR file's entries."""

from typing import Any

from palaestra.browser.driver import Window


class Trace:
    """Listens to a window."""

    def __init__(self, window: Window) -> None:
        self._requests: list[Any] = []
        self._entries: list[dict[str, Any]] = []
        window.on_finished(self._record_request)

    def _record_request(self, request: Any) -> None:
        self._requests.append(request)

    def entries(self) -> list[dict[str, Any]]:
        """Every request so far with its answer, in the order of their ends."""
        requests, self._requests[:] = list(self._requests), []
        self._entries += map(_entry, requests)
        return self._entries


def _entry(request: Any) -> dict[str, Any]:
    response = request.response()
    headers = request.all_headers()
    answer: dict[str, str] = response.all_headers() if response else {}
    sent: dict[str, Any] = {
        "method": request.method,
        "url": request.url,
        "headers": _list_headers(headers),
        "queryString": [],
    }
    if request.post_data_buffer is not None:
        text = request.post_data_buffer.decode(errors="replace")
        sent["postData"] = {"mimeType": headers.get("content-type", ""), "text": text}
    return {
        "request": sent,
        "response": {
            "status": response.status if response else -1,
            "headers": _list_headers(answer),
            "redirectURL": answer.get("location", ""),
            "content": {"mimeType": answer.get("content-type", ""), "text": ""},
            "cookies": [],
        },
    }


def _list_headers(headers: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]

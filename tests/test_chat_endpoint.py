"""The chat endpoint's check, against servers on loopback that behave well and badly. The key never shows."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from erreval.chat.endpoint import Endpoint, endpoint_from_environment, list_models
from erreval.errors import ErrevalError

KEY = "sk-very-secret-0123456789"
MODELS = {"object": "list", "data": [{"id": name, "object": "model"} for name in ("qwen3", "llama3")]}

Serve = Callable[[int, str, str], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that gives every request one reply (status, content type, body), and names its address."""
    servers: list[ThreadingHTTPServer] = []

    def start(status: int, kind: str, body: str) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if kind == "slow":
                    time.sleep(2)
                if self.headers.get("Authorization") != f"Bearer {KEY}":
                    self.send_error(400)
                    return
                self.send_response(status if self.path.endswith("/v1/models") else 404)
                self.send_header("Content-Type", kind)
                self.end_headers()
                with suppress(BrokenPipeError):  # who waits no longer reads no more
                    self.wfile.write(body.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def refusal(url: str, key: str = KEY, seconds: float = 5.0) -> str:
    with pytest.raises(ErrevalError) as caught:
        list_models(Endpoint(url, key), seconds)
    message = str(caught.value)
    assert KEY not in message
    assert "\n" not in message
    return message


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_models_are_listed_by_name(serve: Serve) -> None:
    url = serve(200, "application/json", json.dumps(MODELS))
    assert list_models(Endpoint(url, KEY)) == ["llama3", "qwen3"]


@pytest.mark.parametrize(
    ("status", "kind", "body", "why"),
    [
        (401, "application/json", '{"error": {"message": "Incorrect API key provided: KEY"}}', "refuses the key"),
        (403, "application/json", '{"error": {"message": "no KEY"}}', "PermissionDeniedError"),
        (500, "text/plain", "oops KEY", "InternalServerError"),
        (429, "application/json", "{}", "RateLimitError"),
        (200, "text/html", "<html><body>Welcome KEY</body></html>", "speaks another protocol"),
        (200, "application/json", '{"models": []}', "speaks another protocol"),
        (200, "application/json", '{"data": ["qwen"]}', "speaks another protocol"),
        (200, "application/json", "not json", "speaks another protocol"),
    ],
)
def test_what_a_server_does_wrong_is_told(serve: Serve, status: int, kind: str, body: str, why: str) -> None:
    url = serve(status, kind, body.replace("KEY", KEY))
    assert refusal(url) in {f"{url} {why}", f"{url} answers with {why}"}


def test_a_server_that_is_down_or_slow_cannot_be_reached(serve: Serve) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    assert refusal(url) == f"{url} cannot be reached"
    slow = serve(200, "slow", "{}")
    started = time.monotonic()
    assert refusal(slow, seconds=0.2) == f"{slow} cannot be reached"
    assert time.monotonic() - started < 1.9


def test_credentials_in_the_address_are_not_shown() -> None:
    url = f"http://me:{KEY}@127.0.0.1:{closed_port()}/v1?key={KEY}"
    assert "me" not in refusal(url).split("/")[2]
    assert KEY not in repr(Endpoint(url, KEY))


@pytest.mark.parametrize("url", ["localhost:8000/v1", "http://[bad", "http://h:abc/v1", "ftp://h/v1", "http:///v1"])
def test_what_is_no_address_is_told(url: str) -> None:
    assert "write http://HOST:PORT/v1" in refusal(url)


@pytest.mark.parametrize("key", ["sk-\n1", "ключ"])
def test_what_is_no_key_is_told(key: str) -> None:
    message = refusal("http://127.0.0.1:9/v1", key)
    assert message == "OPENAI_API_KEY holds a character that no key has; copy it again"


def test_the_environment_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert endpoint_from_environment() is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert endpoint_from_environment() == Endpoint("http://127.0.0.1:1/v1", "none")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert endpoint_from_environment() == Endpoint("http://127.0.0.1:1/v1", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL")
    found = endpoint_from_environment()
    assert found is not None
    assert found.address == "https://api.openai.com/v1"

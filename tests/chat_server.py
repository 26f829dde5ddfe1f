"""A real server on loopback that speaks the chat protocol, well and badly."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

KEY = "sk-very-secret-0123456789"
Action = Callable[["_Handler", dict[str, Any]], None]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: ChatServer

    def send(self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # who waits no longer reads no more
            self.wfile.write(body)

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.owner.key}":
            self.send(401, "application/json", b'{"error": {"message": "no"}}')
            return
        listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in self.owner.models]}
        self.send(200, "application/json", json.dumps(listed).encode())

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.owner.lock:
            self.owner.requests.append(request)
            self.owner.in_flight += 1
            self.owner.most_in_flight = max(self.owner.most_in_flight, self.owner.in_flight)
            action = self.owner.script.pop(0) if self.owner.script else self.owner.otherwise
        try:
            action(self, request)
        finally:
            with self.owner.lock:
                self.owner.in_flight -= 1

    def log_message(self, format: str, *args: object) -> None:
        pass


def completion(text: str | None, **more: Any) -> dict[str, Any]:
    """The body of a chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    choice.update(more.pop("choice", {}))
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-1",
        "choices": [choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        **more,
    }


def says(text: str | None, delay: float = 0.0, **more: Any) -> Action:
    """Answers with a text."""
    return sends(completion(text, **more), delay=delay)


def sends(body: Any, status: int = 200, delay: float = 0.0, **headers: str) -> Action:
    """Answers with JSON."""

    def act(handler: _Handler, request: dict[str, Any]) -> None:
        time.sleep(delay)
        handler.send(status, "application/json", json.dumps(body).encode(), headers)

    return act


def answers(write: Callable[[dict[str, Any]], str]) -> Action:
    """Answers with a text made from the request."""
    return lambda handler, request: handler.send(
        200, "application/json", json.dumps(completion(write(request))).encode()
    )


def page(handler: _Handler, request: dict[str, Any]) -> None:
    """A 200 with a web page."""
    handler.send(200, "text/html", b"<html>Welcome</html>")


def cut_json(handler: _Handler, request: dict[str, Any]) -> None:
    """A 200 whose JSON breaks off, the length being right."""
    handler.send(200, "application/json", json.dumps(completion("hello")).encode()[:-40])


def cut_body(handler: _Handler, request: dict[str, Any]) -> None:
    """A 200 whose connection ends in the middle of the body."""
    body = json.dumps(completion("hello")).encode()
    handler.send(200, "application/json", body[:50], {"Content-Length": str(len(body))})
    handler.close_connection = True


def reset(handler: _Handler, request: dict[str, Any]) -> None:
    """The connection is reset."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def dribble(handler: _Handler, request: dict[str, Any]) -> None:
    """A byte now and then, for ever: no read ever times out by itself."""
    handler.send(200, "application/json", b"", {"Content-Length": "10000"})
    with suppress(OSError):
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)


@dataclass
class ChatServer:
    """Gives each request the next action of ``script``, then ``otherwise``; keeps what it was asked."""

    models: list[str] = field(default_factory=lambda: ["served-1"])
    key: str = KEY
    script: list[Action] = field(default_factory=list)
    otherwise: Action = field(default_factory=lambda: says("hello"))
    requests: list[dict[str, Any]] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """A running server."""
    owner = ChatServer()
    handler = type("Handler", (_Handler,), {"owner": owner})

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away is no news."""

    server = Server(("127.0.0.1", 0), handler)
    owner.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield owner
    server.shutdown()
    server.server_close()

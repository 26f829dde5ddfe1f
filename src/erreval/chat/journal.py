"""Every call of a run, kept as it comes: a rerun goes on where the last one ended and pays for nothing twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout
from pydantic import ValidationError

from erreval.chat.exchange import ChatReply, ChatRequest, Completer
from erreval.errors import ErrevalError


def call_id(identity: tuple[str, str], request: ChatRequest) -> str:
    """What a reply depends on, as a SHA-256: endpoint, model there, and all of the request."""
    parts = [*identity, request.model_dump(mode="json")]
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Journal:
    """A JSONL file of calls, one a line with its prompt and reply; no key is ever in it.

    Use it as a context manager: it holds a lock. A last line that was cut off by a crash is taken back.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(f"{path}.lock")
        self._replies: dict[str, ChatReply] = {}

    def __enter__(self) -> Self:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ErrevalError(f"{self.path}: another run is writing it; wait for it, or name another output") from None
        try:
            self._replies = dict(read_journal(self.path))
            if self.path.exists():
                with self.path.open("r+b") as file:
                    file.truncate(_whole(self.path.read_bytes()))
            self._file = self.path.open("ab")
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        # Before it is released: whoever comes now makes a lock of its own, and nothing is written here any more.
        Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

    def reply(self, identity: tuple[str, str], request: ChatRequest) -> ChatReply | None:
        """The kept reply to a request, if there is one."""
        return self._replies.get(call_id(identity, request))

    def keep(self, completer: Completer, request: ChatRequest, reply: ChatReply, about: Mapping[str, Any]) -> None:
        """Write a call down, at once."""
        key = call_id(completer.identity, request)
        address, served = completer.identity
        line = {
            "call": key,
            **about,
            "model": completer.name,
            "address": address,
            "served": served,
            "request": request.model_dump(mode="json", exclude_none=True),
            "reply": reply.model_dump(mode="json", exclude_none=True),
        }
        self._file.write((json.dumps(line, ensure_ascii=True) + "\n").encode("ascii"))
        self._file.flush()
        self._replies[key] = reply

    async def complete(self, completer: Completer, request: ChatRequest, **about: Any) -> ChatReply:
        """The kept reply, or else the model's, which is then kept.

        Raises:
            ChatError: There is no reply; nothing is kept, so that a rerun asks again.
        """
        kept = self.reply(completer.identity, request)
        if kept is not None:
            return kept
        reply = await completer.complete(request)
        self.keep(completer, request, reply, about)
        return reply


def read_journal(path: Path) -> Mapping[str, ChatReply]:
    """The replies of a journal by ``call_id``; none where the file is not there. The file is left as it is.

    Raises:
        ErrevalError: A line that is whole is no call.
    """
    if not path.exists():
        return {}
    content = path.read_bytes()
    replies = {}
    for number, line in enumerate(content[: _whole(content)].splitlines(), start=1):
        try:
            entry = json.loads(line)
            replies[str(entry["call"])] = ChatReply.model_validate(entry["reply"])
        except (ValueError, KeyError, TypeError, ValidationError):
            raise ErrevalError(
                f"{path}, line {number}: is no kept call; remove the line (its call is then paid for again), or name "
                "another output"
            ) from None
    return replies


def _whole(content: bytes) -> int:
    """Length of the part that ends with a line end."""
    return content.rfind(b"\n") + 1

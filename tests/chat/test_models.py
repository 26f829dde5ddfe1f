"""models.yaml and its mistakes, all told at once and without a key."""

from __future__ import annotations

import socket
import traceback
from pathlib import Path

import pytest
from chat_server import KEY, ChatServer, chat_server

from erreval.chat.models import load_models, ready_models
from erreval.errors import SettingsError

__all__ = ["chat_server"]


def written(folder: Path, text: str) -> Path:
    path = folder / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def mistake(path: Path, *names: str) -> str:
    with pytest.raises(SettingsError) as caught:
        ready_models(names, path, seconds=1.0) if names else load_models(path)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_a_whole_file(tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key.txt").write_text(f"{KEY}\n", encoding="utf-8")
    monkeypatch.setenv("MY_KEY", KEY)
    path = written(
        tmp_path,
        f"models:\n"
        f"  a: {{base_url: '{chat_server.url}', model: served-1, key_env: MY_KEY, timeout_s: 9}}\n"
        f"  served-1: {{base_url: '{chat_server.url}', key_file: key.txt, token_limit: max_completion_tokens}}\n",
    )
    a, b = ready_models(["a", "served-1", "a"], path)
    assert (a.name, a.served, a.endpoint.key, a.timeout_s) == ("a", "served-1", KEY, 9)
    assert (b.name, b.served, b.endpoint.key, b.token_limit) == ("served-1", "served-1", KEY, "max_completion_tokens")
    assert KEY not in repr((a, b))


def test_all_mistakes_of_the_file_at_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"models:\n"
        f"  a: {{base_url: 'localhost:8000/v1', timeout_s: soon}}\n"
        f"  b: {{base_url: 'http://me:{KEY}@h/v1', key: {KEY}}}\n"
        f"  c: {{base_url: 'http://h/v1', key_env: {KEY}}}\n"
        f"  d: {{base_url: 'http://h/v1', key_env: A, key_file: b}}\n"
        f"  e: {{}}\n",
    )
    told = mistake(path)
    for part in (
        "a.base_url: is no address",
        "a.timeout_s: Input should be a valid number",
        "b.base_url: holds more than an address",
        "b.key: there is no such entry; known are base_url, model",
        "c.key_env: is no name of an environment variable",
        "d: names both key_env and key_file",
        "e.base_url: Field required",
    ):
        assert part in told
    assert told.startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("models: {}", "models"),
        ("", "Field required"),
        ("- a", "should be a valid dictionary"),
        (f"models: {{a: {KEY}\n", "not valid YAML in line 2"),
        ("models: {a: {base_url: 'http://h'}, a: {base_url: 'http://h'}}", "not valid YAML"),
        (f"mine: {{base_url: 'http://h', key: {KEY}}}", "all stands under `models:`"),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, text: str, part: str) -> None:
    assert part in mistake(written(tmp_path, text))


def test_no_file(tmp_path: Path) -> None:
    assert "no such file; write one, such as models:" in mistake(tmp_path / "models.yaml")


def test_all_that_is_missing_before_the_first_call(
    tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]
    monkeypatch.setenv("GOOD", KEY)
    monkeypatch.setenv("OLD", f"{KEY}-old")
    monkeypatch.setenv("BROKEN", "sk-\x01")
    monkeypatch.delenv("UNSET", raising=False)
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    lines = {
        "unset": f"base_url: '{chat_server.url}', key_env: UNSET",
        "nofile": f"base_url: '{chat_server.url}', key_file: {KEY}",
        "empty": f"base_url: '{chat_server.url}', key_file: empty",
        "broken": f"base_url: '{chat_server.url}', key_env: BROKEN",
        "down": f"base_url: 'http://127.0.0.1:{closed}/v1', key_env: GOOD",
        "old": f"base_url: '{chat_server.url}', key_env: OLD",
        "other": f"base_url: '{chat_server.url}', key_env: GOOD, model: gpt-9",
        "served-1": f"base_url: '{chat_server.url}', key_env: GOOD",
    }
    path = written(tmp_path, "models:\n" + "".join(f"  {name}: {{{rest}}}\n" for name, rest in lines.items()))
    told = mistake(path, "nobody", *lines)
    for part in (
        "there is no model 'nobody'; there are: unset, nofile",
        "unset: the environment variable UNSET holds no key",
        "nofile: key_file names no file that can be read",
        "empty: the key_file is empty",
        "broken: BROKEN holds a character that no key has",
        f"down: http://127.0.0.1:{closed}/v1 cannot be reached",
        f"old: {chat_server.url} refuses the key",
        f"other: {chat_server.url} does not offer 'gpt-9' but served-1",
    ):
        assert part in told
    assert "served-1:" not in told
    assert not chat_server.requests

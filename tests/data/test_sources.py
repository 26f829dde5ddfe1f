"""Public files: pinned, verified, never half there."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from erreval.data import sources
from erreval.data.sources import Source, SourceFile, can_reach, fetch, load_sources, materialise, state_of
from erreval.errors import SourceError

CONTENT = {"data/a b.csv": b"question\nq\n", "b.csv": b"question\nr\n" * 50}


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ERREVAL_MIRROR", raising=False)
    monkeypatch.setenv("ERREVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "_RETRIES", 0)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """A source of two files, in a mirror at ``tmp_path / "mirror"``."""
    files = []
    for path, content in CONTENT.items():
        digest = hashlib.sha256(content).hexdigest()
        file = SourceFile(
            name=Path(path).name, repo="o/r", commit="c" * 40, path=path, bytes=len(content), sha256=digest
        )
        target = tmp_path / "mirror" / file.key
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        files.append(file)
    source = Source(name="small", title="t", licence="CC0", citation="c", homepage="h", files=tuple(files))
    monkeypatch.setattr(sources, "load_sources", lambda: {"small": source})
    return source


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The mirror over HTTP; gives the list of requests."""
    seen: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            seen.append(f"{self.command} {self.path}")

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "mirror")))
    thread = threading.Thread(target=httpd.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    monkeypatch.setattr(sources, "BASE_URL", f"http://127.0.0.1:{httpd.server_port}")
    yield seen
    httpd.shutdown()
    httpd.server_close()


def files_under(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_the_manifest_names_every_source_with_licence_and_citation() -> None:
    known = load_sources()
    assert sum(len(source.files) for source in known.values()) == 478
    for source in known.values():
        assert source.licence
        assert source.citation
        assert len({file.name for file in source.files}) == len(source.files)
        assert all(len(file.sha256) == 64 and len(file.commit) == 40 for file in source.files)
    assert len({file.key for source in known.values() for file in source.files}) == 478
    assert load_sources()["qgeval"].files[1].url.endswith("/data/annotation%20result/annotator1.xlsx")


def test_everything_mirrored_is_fetched_with_the_right_hash(mirror: Path, tmp_path: Path) -> None:
    names = [name for name in load_sources() if name not in {"simqg", "squad-1k"}]
    assert can_reach(names, mirror=mirror).ok
    paths = fetch(names, mirror=mirror)
    assert sum(map(len, paths.values())) == 476
    assert state_of(load_sources()["fairytaleqa"]) == "cached"
    reach = can_reach(["simqg"], mirror=mirror)
    assert not reach.ok
    assert "simqg.xlsx" in reach.why
    with pytest.raises(SourceError, match=r"simqg\.xlsx: not in the mirror"):
        fetch(["simqg"], mirror=mirror)


def test_a_flipped_byte_is_refused_and_nothing_is_kept(small: Source, tmp_path: Path) -> None:
    bad = tmp_path / "mirror" / small.files[1].key
    content = bytearray(bad.read_bytes())
    content[7] ^= 1
    bad.write_bytes(content)
    with pytest.raises(SourceError, match=r"b\.csv: not the pinned file"):
        fetch(["small"], mirror=tmp_path / "mirror")
    assert small.files[1].key not in files_under(tmp_path / "cache")
    assert not can_reach(["small"], mirror=tmp_path / "mirror").ok
    bad.write_bytes(CONTENT["b.csv"])
    assert len(fetch(["small"], mirror=tmp_path / "mirror")["small"]) == 2


def test_the_network_is_used_once_and_the_cache_afterwards(small: Source, server: list[str], tmp_path: Path) -> None:
    assert state_of(small) == "not fetched"
    assert can_reach(["small"]).ok
    fetch(["small"])
    assert sum(line.startswith("GET") for line in server) == 2
    fetch(["small"])
    assert sum(line.startswith("GET") for line in server) == 2
    assert "in the cache" in can_reach(["small"]).why
    assert files_under(tmp_path / "cache") == sorted(file.key for file in small.files)


def test_a_damaged_file_in_the_cache_is_fetched_again(small: Source, server: list[str], tmp_path: Path) -> None:
    fetch(["small"])
    damaged = tmp_path / "cache" / small.files[0].key
    damaged.write_bytes(b"short")
    assert state_of(small) == "partly cached"
    fetch(["small"])
    assert damaged.read_bytes() == CONTENT["data/a b.csv"]


def test_a_missing_file_on_the_network(small: Source, server: list[str], tmp_path: Path) -> None:
    (tmp_path / "mirror" / small.files[0].key).unlink()
    with pytest.raises(SourceError, match=r"a%20b\.csv: cannot be downloaded \(HTTP 404\).*ERREVAL_MIRROR"):
        fetch(["small"])
    assert "HTTP 404" in can_reach(["small"]).why


def test_no_network(small: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(SourceError, match="check the network and try again"):
        fetch(["small"])
    reach = can_reach(["small"])
    assert not reach.ok
    assert "cannot be reached" in reach.why


def test_an_unknown_name_and_a_mirror_that_is_not_there(small: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="there are: small"):
        fetch(["large"])
    monkeypatch.setenv("ERREVAL_MIRROR", "/no/such/mirror")
    with pytest.raises(SourceError, match="unset it to download"):
        fetch(["small"])
    assert not can_reach(["small"]).ok


def test_what_is_cached_needs_no_mirror(small: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch(["small"], mirror=tmp_path / "mirror")
    monkeypatch.setenv("ERREVAL_MIRROR", "/no/such/mirror")
    assert can_reach(["small"]).ok
    assert len(fetch(["small"])["small"]) == 2


def test_sources_are_laid_out_for_the_readers(small: Source, tmp_path: Path) -> None:
    laid = materialise(["small"], tmp_path / "raw", mirror=tmp_path / "mirror")
    assert files_under(laid["small"]) == ["a b.csv", "b.csv"]
    (laid["small"] / "b.csv").write_bytes(b"changed")
    materialise(["small"], tmp_path / "raw", mirror=tmp_path / "mirror")
    assert (laid["small"] / "b.csv").read_bytes() == CONTENT["b.csv"]


def test_a_cache_that_may_not_be_written(small: Source, ordinary_user: Path, tmp_path: Path) -> None:
    for file in small.files:
        (ordinary_user / "mirror" / file.key).parent.mkdir(parents=True, exist_ok=True)
        (ordinary_user / "mirror" / file.key).write_bytes(CONTENT[file.path])
    cache = ordinary_user / "cache"
    cache.mkdir(mode=0o500)
    with pytest.raises(SourceError, match="ERREVAL_CACHE"):
        fetch(["small"], cache=cache, mirror=ordinary_user / "mirror")

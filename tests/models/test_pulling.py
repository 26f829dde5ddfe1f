"""Pulling from a folder, an archive on the disk or a real local server, the hub: whole and checked, or not at all."""

from __future__ import annotations

import http.server
import json
import pickle
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from erreval.diagnosis.diagnose import DETECTORS
from erreval.errors import ErrevalError
from erreval.models.archive import pack, sha256_of
from erreval.models.catalogue import locate
from erreval.models.contents import check_contents, content_hash
from erreval.models.pulling import find_pulled, models_folder, pull, pulled_models
from erreval.taxonomy import ALL_TYPES


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ERREVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder that looks like a saved identifier: pulling loads nothing, so no weights are needed to try it."""
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"id2label": {str(k): t.value for k, t in enumerate(ALL_TYPES)}}))
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    return folder


@pytest.fixture
def archive(saved: Path, tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "released-1.0.zip"
    with path.open("wb") as stream:
        pack(check_contents(saved), "released-1.0", stream)
    with path.open("rb") as stream:
        return path, sha256_of(stream)


@pytest.fixture
def server(archive: tuple[Path, str]) -> Iterator[str]:
    """Serves the archive; ``/cut/`` breaks off in the middle, all else is not found."""
    content = archive[0].read_bytes()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            whole, cut = self.path.split("?")[0] == "/a/released-1.0.zip", self.path.startswith("/cut/")
            if not (whole or cut):
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content if whole else content[: len(content) // 2])

        def log_message(self, *_: object) -> None:
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    running.server_close()


def nothing_kept() -> bool:
    return not models_folder().exists() or not list(models_folder().iterdir())


def test_a_folder(saved: Path) -> None:
    model = pull("saved")
    assert (model.name, model.source) == ("saved", str(saved))
    assert model.sha256 == content_hash(check_contents(saved)) == content_hash(check_contents(model.folder))
    assert pulled_models() == [model] and find_pulled("saved") == model
    shutil.rmtree(saved)
    assert locate("saved").folder == model.folder


def test_a_folder_counts_before_a_pulled_model_of_its_name(saved: Path) -> None:
    pull("saved")
    assert locate("saved").folder == Path("saved")
    assert locate(Path("elsewhere")).folder == Path("elsewhere")


def test_pulled_twice_it_is_there_once_and_another_of_its_name_needs_a_word(saved: Path) -> None:
    first = pull("saved")
    assert pull("saved") == first
    (saved / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(ErrevalError, match=r"holds another model of this name.*--name.*--replace"):
        pull("saved")
    assert pull("saved", name="second").name == "second"
    assert pull("saved", replace=True).sha256 != first.sha256
    assert [m.name for m in pulled_models()] == ["saved", "second"]
    assert sorted(p.name for p in models_folder().iterdir()) == ["saved", "second"]  # no temporary folder is left


def test_a_damaged_copy_is_pulled_anew(saved: Path) -> None:
    first = pull("saved")
    (first.folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(ErrevalError, match="--replace"):
        pull("saved")
    assert content_hash(check_contents(pull("saved", replace=True).folder)) == first.sha256


def test_an_archive_with_its_hash_given_or_beside_it(archive: tuple[Path, str], saved: Path) -> None:
    path, digest = archive
    with pytest.raises(ErrevalError, match="give the archive's --sha256"):
        pull(str(path))
    with pytest.raises(ErrevalError, match=r"its SHA-256 is .*nothing was unpacked"):
        pull(str(path), sha256="0" * 64)
    assert nothing_kept()
    model = pull(str(path), sha256=digest)
    assert model.name == "released-1.0"
    assert model.sha256 == content_hash(check_contents(saved))
    path.with_name(f"{path.name}.sha256").write_text(f"{digest}  {path.name}\n")
    assert pull(str(path)) == model
    path.with_name(f"{path.name}.sha256").write_text(f"{'1' * 64}  {path.name}\n")
    with pytest.raises(ErrevalError, match="nothing was unpacked"):
        pull(str(path))


def test_an_archive_by_url(server: str, archive: tuple[Path, str], saved: Path) -> None:
    model = pull(f"{server}/a/released-1.0.zip?x=1", sha256=archive[1])
    assert (model.name, model.sha256) == ("released-1.0", content_hash(check_contents(saved)))


@pytest.mark.parametrize(
    ("path", "digest", "why"),
    [
        ("/a/released-1.0.zip", None, "give the archive's --sha256"),
        ("/a/released-1.0.zip", "0" * 64, r"its SHA-256 is [0-9a-f]{64}, not 0{64}"),
        ("/a/released-1.0.zip", "abc", "'abc' is no SHA-256"),
        ("/b/none.zip", "right", "answers with HTTP 404"),
        ("/cut/released-1.0.zip", "right", "cannot be downloaded|its SHA-256 is"),
        ("/a/model", None, "ends in .zip"),
    ],
)
def test_a_url_that_gives_nothing_good(
    server: str, archive: tuple[Path, str], path: str, digest: str | None, why: str
) -> None:
    with pytest.raises(ErrevalError, match=why):
        pull(f"{server}{path}", sha256=archive[1] if digest == "right" else digest)
    assert nothing_kept()


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(ErrevalError, match=r"cannot be downloaded \(ConnectionError\); check the address"):
        pull("http://127.0.0.1:9/a.zip", sha256="0" * 64)


def test_without_a_way_to_the_hub_one_line_says_so() -> None:
    with pytest.raises(ErrevalError, match=r"someone/model: cannot be had from the hub .*release archive") as caught:
        pull("someone/model")
    assert "\n" not in str(caught.value)
    assert nothing_kept()


def test_of_the_hub_only_safetensors_and_text_are_asked_for(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def snapshot_download(repository: str, *, local_dir: Path, **options: object) -> None:
        asked.update(options, repository=repository)
        shutil.copytree(saved, local_dir)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    model = pull("hub:someone/model@v2")
    assert (model.name, model.source) == ("someone--model", "hub:someone/model@v2")
    assert (asked["repository"], asked["revision"]) == ("someone/model", "v2")
    patterns = asked["allow_patterns"]
    assert "*.safetensors" in patterns and not any("bin" in p or "pt" in p or "pkl" in p for p in patterns)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pickle": (lambda f: (f / "pytorch_model.bin").write_bytes(pickle.dumps({})), "refused: only safetensors"),
    "a script": (lambda f: (f / "modeling.py").write_text("print()"), "refused: only safetensors"),
    "a link": (lambda f: (f / "vocab.txt").symlink_to("/etc/passwd"), "is a link"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no weights"),
    "no configuration": (lambda f: (f / "config.json").unlink(), r"neither config.json nor fusion.json"),
    "other classes": (lambda f: (f / "config.json").write_text('{"id2label": {"0": "a", "1": "b"}}'), r"\['a', 'b'\]"),
    "no classes": (lambda f: (f / "config.json").write_text("{}"), "not nothing"),
    "no JSON": (lambda f: (f / "config.json").write_text("{"), "cannot be read as a model's configuration"),
    "a list": (lambda f: (f / "config.json").write_text("[1]"), "cannot be read as a model's configuration"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_identifier_is_not_kept(saved: Path, kind: str) -> None:
    spoil, why = BAD[kind]
    spoil(saved)
    with pytest.raises(ErrevalError, match=why) as caught:
        pull("saved")
    assert "\n" not in str(caught.value)
    assert nothing_kept()


def test_the_classes_must_be_in_order(saved: Path) -> None:
    names = [t.value for t in ALL_TYPES]
    (saved / "config.json").write_text(json.dumps({"id2label": dict(enumerate(reversed(names)))}))
    with pytest.raises(ErrevalError, match="eleven types in order"):
        pull("saved")


@pytest.mark.parametrize(
    ("source", "options", "why"),
    [
        ("nowhere", {}, "there is no such folder; a model comes from"),
        ("no.zip", {"sha256": "0" * 64}, "no.zip: no such file"),
        ("saved", {"sha256": "0" * 64}, "--sha256 belongs to a release archive"),
        ("saved", {"name": "../up"}, "is no name for a model"),
        ("models:/x", {}, "not of the form models:/NAME/VERSION"),
    ],
)
def test_mistakes(saved: Path, source: str, options: dict[str, str], why: str) -> None:
    with pytest.raises(ErrevalError, match=why):
        pull(source, **options)  # type: ignore[arg-type]
    assert nothing_kept()


def test_notes_that_cannot_be_read_name_the_remedy(saved: Path) -> None:
    place = pull("saved").folder.parent
    (place / "source.json").write_text("{}")
    with pytest.raises(ErrevalError, match=f"remove {place} and pull it anew"):
        pulled_models()


def test_the_name_of_the_detectors_is_reserved(saved: Path) -> None:
    for source in (str(saved), "models:/never-asked/1"):
        with pytest.raises(ErrevalError, match=r"is reserved.*--name"):
            pull(source, name=DETECTORS)
    shutil.copytree(saved, DETECTORS)
    with pytest.raises(ErrevalError, match=r"is reserved.*--name"):
        pull(DETECTORS)
    assert nothing_kept()
    assert pull(DETECTORS, name="mine").name == "mine"

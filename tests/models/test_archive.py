"""Archives: the same files, the same bytes; and nothing lands outside the folder."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erreval.errors import ErrevalError
from erreval.models.archive import check_hash, pack, sha256_of, unpack

NAMES = st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}\.txt", fullmatch=True)


def packed(files: dict[str, Path | bytes]) -> bytes:
    stream = io.BytesIO()
    pack(files, "top", stream)
    return stream.getvalue()


def archive_of(name: str, content: bytes = b"x", mode: int = stat.S_IFREG | 0o644) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.create_system = 3
        entry.external_attr = mode << 16
        archive.writestr(entry, content)
    return stream


def listing(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@given(st.dictionaries(NAMES, st.binary(max_size=50), min_size=1, max_size=5))
def test_what_was_packed_comes_out(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    target = tmp_path_factory.mktemp("out")
    unpack(io.BytesIO(packed(dict(files))), target, "it")
    assert listing(target) == {f"top/{name}": content for name, content in files.items()}


def test_the_same_files_give_the_same_bytes_whenever_and_in_whatever_order(tmp_path: Path) -> None:
    for k, name in enumerate(("b.json", "a.txt")):
        (tmp_path / name).write_bytes(name.encode() * 1000)
        os.utime(tmp_path / name, (k * 1e9, k * 1e9))
    first = packed({name: tmp_path / name for name in ("b.json", "a.txt")})
    for name in ("a.txt", "b.json"):
        (tmp_path / name).chmod(0o600)
        os.utime(tmp_path / name, (5, 5))
    assert packed({name: tmp_path / name for name in ("a.txt", "b.json")}) == first
    # a file and its content are the same thing
    assert packed({name: (tmp_path / name).read_bytes() for name in ("a.txt", "b.json")}) == first
    assert zipfile.ZipFile(io.BytesIO(first)).namelist() == ["top/a.txt", "top/b.json"]


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "C:evil", "a\\..\\evil", "..", "a/.."])
def test_a_place_outside_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(ErrevalError, match="names a place outside its folder"):
        unpack(archive_of(name), tmp_path / "in", "it")
    assert listing(tmp_path) == {}


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    with pytest.raises(ErrevalError, match="is a link or no plain file"):
        unpack(archive_of("a", b"/etc/passwd", kind | 0o777), tmp_path, "it")
    assert listing(tmp_path) == {}


def test_too_large_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ErrevalError, match="would unpack to 1 files and 11 bytes; at most 1000 files and 10 bytes"):
        unpack(archive_of("a", b"x" * 11), tmp_path, "it", max_bytes=10)
    many = packed({f"{k}.txt": b"" for k in range(1001)})
    with pytest.raises(ErrevalError, match="1001 files"):
        unpack(io.BytesIO(many), tmp_path, "it")
    assert listing(tmp_path) == {}


def test_a_size_that_lies_is_noticed(tmp_path: Path) -> None:
    content = archive_of("a", b"x" * 5000).getvalue()
    lying = content.replace((5000).to_bytes(4, "little"), (10).to_bytes(4, "little"))  # both headers say 10 bytes
    assert lying != content
    with pytest.raises(ErrevalError, match="cannot be unpacked"):
        unpack(io.BytesIO(lying), tmp_path, "it")
    assert sum(map(len, listing(tmp_path).values())) <= 10


def test_one_place_twice_is_refused(tmp_path: Path) -> None:
    stream = archive_of("a")
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a", b"other")
    with pytest.raises(ErrevalError, match="holds 'a' twice"):
        unpack(stream, tmp_path, "it")


@pytest.mark.parametrize("content", [b"", b"no archive", packed({"a": b"x" * 500})[:300]])
def test_what_is_no_archive_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ErrevalError, match="cannot be unpacked"):
        unpack(io.BytesIO(content), tmp_path, "it")


def test_the_hash_is_checked() -> None:
    stream = io.BytesIO(b"abc")
    # FIPS 180-2, appendix B.1: SHA-256 of "abc"
    right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    check_hash(stream, f" {right.upper()}\n", "it")
    assert stream.tell() == 0 and sha256_of(stream) == right
    with pytest.raises(ErrevalError, match=f"SHA-256 is {right}, not {'0' * 64}.*nothing was unpacked"):
        check_hash(stream, "0" * 64, "it")
    with pytest.raises(ErrevalError, match="is no SHA-256"):
        check_hash(stream, hashlib.md5(b"abc").hexdigest(), "it")

"""Stage fetch: bring the profile's public files, verified, into the project."""

from __future__ import annotations

from erreval.data.sources import materialise
from pipelines.context import open_context, write_json
from pipelines.supervision import run, stage

PARAMS = ("data",)


def main() -> None:
    """Write the raw files of every source, and an index of them."""
    here = open_context("fetch", PARAMS)
    sources = here.settings.data.sources
    with stage("fetch", [here.layout.raw], profile=here.settings.profile) as work:
        folder = work.path(here.layout.raw)
        folder.mkdir()
        if sources:
            materialise(sources, folder)
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        write_json({"sources": list(sources), "files": files}, folder / "index.json")


if __name__ == "__main__":
    run(main)

"""``erreval models``: which Error Identifiers there are, pulling one, checking one, releasing the project's own."""

from __future__ import annotations

from pathlib import Path

import click


@click.group(name="models")
def models() -> None:
    """Error Identifiers: list, pull, check, release. `diagnose --model NAME` takes what `list` shows."""


@models.command(name="list")
def list_models() -> None:
    """List trained models of this project, versions in MLflow's registry, and pulled ones."""
    from erreval.errors import ErrevalError
    from erreval.layout import Layout
    from erreval.models.catalogue import listed_pulled, registered_models, trained_models
    from erreval.publishing import REGISTERED
    from erreval.settings import load_settings

    found = []
    if Path("params.yaml").is_file():
        found += trained_models(Layout(load_settings(Path("params.yaml")).profile))
    try:
        found += registered_models(REGISTERED["identifier"])
    except ErrevalError as unreachable:  # the others are there all the same
        click.echo(f"note: {unreachable}", err=True)
    found += listed_pulled()
    for model in found:
        click.echo(f"{model.name}\n    {model.kind}: {model.about}")
    if not found:
        click.echo("no model here; train one (make run), or pull one (see `erreval models pull --help`)")
    click.echo("detectors\n    built in: no training, used where there is no model")


@models.command()
@click.argument("source")
@click.option("--sha256", help="Of a release archive; needed for a URL.")
@click.option("--name", help="To keep it under. [default: follows from SOURCE]")
@click.option("--replace", is_flag=True, help="Take the place of another model that has the name.")
def pull(source: str, sha256: str | None, name: str | None, replace: bool) -> None:
    """Bring a model into the cache, checked: only safetensors and text, with the eleven classes.

    SOURCE is a folder, models:/NAME@ALIAS or models:/NAME/VERSION of MLflow's registry, a hub id OWNER/NAME[@REVISION],
    or a release archive (.zip) by path or URL.
    """
    from erreval.models.pulling import pull as bring

    model = bring(source, sha256=sha256, name=name, replace=replace)
    click.echo(f"{model.name}: from {model.source}, sha256 {model.sha256}")
    click.echo(f"use it: erreval diagnose --model {model.name} …")


@models.command()
@click.argument("name")
def check(name: str) -> None:
    """Check a model: contents, classes, hash, and a diagnosis of a few questions. NAME as `list` shows, or a folder."""
    from erreval.diagnosis.model_check import SMOKE, check_model
    from erreval.errors import ErrevalError
    from erreval.models.catalogue import locate
    from erreval.models.pulling import find_pulled
    from erreval.taxonomy import format_label_set

    place = locate(name)
    found = check_model(place.folder)
    click.echo(f"{place.name}: {found.files} files, {found.bytes / 1e6:.1f} MB, safetensors and text only")
    click.echo(f"sha256 of its contents: {found.sha256}")
    pulled = find_pulled(place.name)
    if pulled is not None and pulled.folder == place.folder:
        if pulled.sha256 != found.sha256:
            raise ErrevalError(f"{name}: changed since it was pulled (sha256 was {pulled.sha256}); pull it anew")
        click.echo("unchanged since it was pulled")
    click.echo("the eleven classes are there; it does not answer alike to everything:")
    for question, labels in zip(SMOKE, found.diagnosed, strict=True):
        click.echo(f"  {format_label_set(labels):40} {question.question[:70]}  [{question.answer}]")


@models.command()
@click.option("-o", "--output", default="dist", show_default=True, type=click.Path(path_type=Path), help="Folder.")
def release(output: Path) -> None:
    """Write the project's champion as a release archive with a model card, and its SHA-256 beside it.

    The same model and results give the same bytes.
    """
    from erreval.release import release_model

    made = release_model(Path(), output)
    click.echo(f"{made.archive}: {made.bytes / 1e6:.1f} MB, sha256 {made.sha256}")

"""A release of the champion: the same bytes each time, a card whose figures are the results', and back again."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML
from test_tracking import SCORED, Workspace

from erreval.cli import main
from erreval.errors import ErrevalError, StageError
from erreval.models.contents import check_contents, content_hash
from erreval.models.pulling import pull
from erreval.release import release_model
from erreval.settings import load_settings
from erreval.taxonomy import ALL_TYPES

NAME = "erreval-identifier-offline-r1"


@pytest.fixture
def project(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Finished stages with hand-made results: r1 is the champion, .6 on dev, .4 on test, the floor .503."""
    monkeypatch.setenv("ERREVAL_CACHE", str(tmp_path / "cache"))
    made = Workspace(tmp_path / "work", [0.5, 0.6], profile="offline")
    made.evaluate(SCORED)
    shutil.copy(root / "params.yaml", made.root)
    assert load_settings(made.root / "params.yaml").profile == "offline"
    for key in ("r0", "r1"):
        folder = made.root / made.work / "models/fused" / key
        names = {str(k): t.value for k, t in enumerate(ALL_TYPES)}
        (folder / "config.json").write_text(json.dumps({"id2label": names}))
        (folder / "model.safetensors").write_bytes(f"weights of {key}".encode())
    training = made.root / made.work / "sets/r1/train.parquet"
    sources = ["injected/xquad"] * 20 + ["injected/qed"] * 10
    pd.read_parquet(training).assign(source=sources).to_parquet(training)
    return made


def card_of(archive: Path) -> str:
    return zipfile.ZipFile(archive).read(f"{NAME}/README.md").decode()


def test_twice_the_same_bytes_and_the_hash_beside_it(project: Workspace, tmp_path: Path) -> None:
    first = release_model(project.root, tmp_path / "a")
    folder = project.root / project.work / "models/fused/r1"
    shutil.move(folder, tmp_path / "moved")  # another place and another time
    shutil.copytree(tmp_path / "moved", folder, copy_function=shutil.copyfile)
    again = release_model(project.root, tmp_path / "b")
    assert first.archive.name == f"{NAME}.zip"
    assert first.archive.read_bytes() == again.archive.read_bytes()
    assert (tmp_path / f"a/{NAME}.zip.sha256").read_text() == f"{first.sha256}  {NAME}.zip\n"
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == [f"{NAME}.zip", f"{NAME}.zip.sha256"]
    (folder / "model.safetensors").write_bytes(b"other")
    assert release_model(project.root, tmp_path / "b").sha256 != first.sha256


def test_what_is_released_can_be_pulled(project: Workspace, tmp_path: Path) -> None:
    made = release_model(project.root, tmp_path / "dist")
    model = pull(str(made.archive))
    assert model.name == NAME
    files = check_contents(model.folder)
    assert sorted(files) == ["README.md", "config.json", "model.safetensors"]
    assert files["model.safetensors"].read_bytes() == b"weights of r1"
    assert content_hash(files) == model.sha256


def test_the_figures_of_the_card_are_those_of_the_results(project: Workspace, tmp_path: Path) -> None:
    card = card_of(release_model(project.root, tmp_path).archive)
    head = YAML(typ="safe").load(io.StringIO(card.split("---")[1]))
    assert (head["license"], head["library_name"]) == ("apache-2.0", "transformers")
    results = json.loads((project.root / "results/offline/identifier.json").read_text())
    (champion,) = (r for r in results["rounds"] if r["round"] == "r1")
    for entry, side in zip(head["model-index"][0]["results"], ("dev", "test"), strict=True):
        assert [m["value"] for m in entry["metrics"]] == [champion[side]["micro_f1"], 0.503]
    assert "| dev, n = 77 | micro_f1 |" in card
    assert "| model | 0.600 | 0.200 | 0.400 | unknown | unknown |" in card  # dev, as Workspace writes it
    assert "| model | 0.400 | 0.200 | 0.400 | unknown | unknown |" in card  # test
    assert "| Off Target Answer | 9 | 0.170 | unknown |" in card
    assert "| clarity | 3000 | 0.300 | unknown | unknown | 0.400 (length) | 0.660 |" in card
    assert "On `test` its micro-F1 (0.400) does not pass the floor (0.503)." in card
    assert "On `dev`" not in card.split("## Limits")[1]


def test_the_card_names_data_and_licences(project: Workspace, tmp_path: Path) -> None:
    card = card_of(release_model(project.root, tmp_path).archive)
    assert re.search(r"\| \[.*XQuAD.*\]\(https://.*\) \| 20 \| CC-BY-SA-4.0 \|", card)
    assert "(licence MIT)" in card  # what the package of the encoder states
    assert "Trained on 30 questions (by origin: injected 20, simulated 10)" in card


def test_a_result_that_is_missing_names_the_command(project: Workspace, tmp_path: Path) -> None:
    (project.root / "results/offline/evaluate.json").unlink()
    with pytest.raises(StageError, match=r"evaluate\.json: missing.*run: dvc repro evaluate"):
        release_model(project.root, tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_figures_that_somebody_has_typed_are_refused(project: Workspace, tmp_path: Path) -> None:
    path = project.root / "results/offline/identifier.json"
    path.write_text(path.read_text().replace("0.6", "0.9"))
    with pytest.raises(StageError, match="differs from what stage summarise has made"):
        release_model(project.root, tmp_path / "dist")


def test_another_champion_than_that_of_the_results(project: Workspace, tmp_path: Path) -> None:
    (project.root / project.work / "champion.json").write_text('{"round": "r0"}')
    with pytest.raises(StageError, match="names round r0, but the results are those of r1"):
        release_model(project.root, tmp_path / "dist")


def test_a_pickle_is_not_released(project: Workspace, tmp_path: Path) -> None:
    (project.root / project.work / "models/fused/r1/training_args.bin").write_bytes(b"x")
    with pytest.raises(ErrevalError, match="refused: only safetensors"):
        release_model(project.root, tmp_path / "dist")


def test_the_command(project: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    told = CliRunner().invoke(main, ["models", "release"])
    assert told.exit_code == 0, told.output
    assert told.output.startswith(f"dist/{NAME}.zip: 0.0 MB, sha256 ")
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(main, ["models", "release"])
    assert told.exit_code == 2 and told.output.startswith("error: ") and told.output.count("\n") == 1

import shutil
from pathlib import Path

import pytest

from erreval.errors import ErrevalError, SettingsError
from erreval.layout import Layout, read_champion
from erreval.settings import PROFILES, apply_changes, apply_profile, load_settings, round_plan

ROOT = Path(__file__).parent.parent


@pytest.fixture
def params(tmp_path):
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    shutil.copy(ROOT / "params.yaml", tmp_path / "params.yaml")
    return tmp_path / "params.yaml"


def test_the_file_in_the_repository_is_valid():
    assert load_settings(ROOT / "params.yaml").profile in PROFILES


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_does_not_depend_on_the_one_before(params, name):
    alone = apply_profile(params, name)
    for other in PROFILES:
        apply_profile(params, other)
        assert apply_profile(params, name) == alone


def test_a_change_keeps_the_comments(params):
    before = params.read_text()
    apply_changes(params, {"seed": 7, "queue.size": 3})
    after = params.read_text()
    assert load_settings(params).seed == 7
    assert load_settings(params).queue.size == 3
    assert [line.partition("#")[2] for line in after.splitlines() if "#" in line] == [
        line.partition("#")[2] for line in before.splitlines() if "#" in line
    ]


def test_all_mistakes_are_told_at_once_and_nothing_is_written(params):
    before = params.read_text()
    with pytest.raises(SettingsError) as told:
        apply_changes(params, {"seed": -1, "queue.size": 0, "selection.reliable_uncertainty": 0.99})
    assert all(name in str(told.value) for name in ("seed", "queue.size", "reliable_uncertainty"))
    assert params.read_text() == before


def test_an_unknown_parameter_is_named(params):
    with pytest.raises(SettingsError, match=r"identifier\.epoch: there is no such parameter"):
        apply_changes(params, {"identifier.epoch": 3})


def test_rounds_follow_one_another(params):
    settings = apply_changes(params, {"rounds": 3})
    assert list(settings.rounds) == ["r0", "r1", "r2"]
    assert settings.rounds["r2"].identifier == "models/identifier/r1"
    assert {k: v.into for k, v in settings.extensions.items()} == {"r0": "r1", "r1": "r2"}
    cold = apply_changes(params, {"warm_start": False})
    assert {plan.identifier for plan in cold.rounds.values()} == {"backbone"}


@pytest.mark.parametrize("count", [0, 10, "many"])
def test_an_impossible_number_of_rounds_is_refused(params, count):
    with pytest.raises(SettingsError, match="rounds"):
        apply_changes(params, {"rounds": count})


def test_round_plan_of_one_round_has_no_extension():
    assert round_plan(1, warm_start=True) == {
        "rounds": {"r0": {"identifier": "backbone", "verifier": "backbone"}},
        "extensions": {},
    }


@pytest.mark.parametrize(
    ("text", "told"), [("a: [", "not valid YAML"), ("- 1", "expected a mapping"), ("seed: 1", "Field required")]
)
def test_a_broken_file_is_told_in_one_line(tmp_path, text, told):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=told) as error:
        load_settings(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "{}", "[]", '"r0"'])
def test_a_broken_champion_is_told_in_one_line(tmp_path, text):
    layout = Layout("sample", tmp_path)
    layout.champion.parent.mkdir(parents=True)
    layout.champion.write_text(text)
    with pytest.raises(ErrevalError, match="does not name a round"):
        read_champion(layout)


def test_what_the_repository_runs_is_its_profile_unchanged(params):
    before = load_settings(params)
    assert apply_profile(params, before.profile, decided=before.profile_decided) == before

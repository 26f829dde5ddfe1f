"""Users' labelled tables, and types as an option spells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from erreval.data.labelled import parse_types, read_labelled
from erreval.errors import TableError
from erreval.taxonomy import ErrorType

TEXT = "question,passage,answer,{column}\nWho?,Ann.,Ann,{cell}\n"


def table(folder: Path, column: str, cell: str) -> Path:
    path = folder / "t.csv"
    path.write_text(TEXT.format(column=column, cell=cell), encoding="utf-8")
    return path


@pytest.mark.parametrize("column", ["labels", "error_label"])
def test_labels_by_their_usual_names(tmp_path: Path, column: str) -> None:
    questions, labels, found_in = read_labelled(table(tmp_path, column, "Vague;Off Target Answer"))
    assert found_in == column
    assert [q.question for q in questions] == ["Who?"]
    assert labels == [frozenset({ErrorType.VAGUE, ErrorType.OFF_TARGET_ANSWER})]


def test_labels_by_a_name_of_ones_own(tmp_path: Path) -> None:
    path = table(tmp_path, "truth", "No Error")
    assert read_labelled(path, label_column="truth").label_sets == [frozenset({ErrorType.NO_ERROR})]
    with pytest.raises(TableError, match=r"no label column 'labels'; the other columns are: 'truth'"):
        read_labelled(path)


@pytest.mark.parametrize("diagnosis", ["diagnosed_by", "p_no_error"])
def test_predictions_are_no_truth_unless_one_says_so(tmp_path: Path, diagnosis: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"question,error_label,labels,{diagnosis}\nWho?,Vague,No Error,1\n", encoding="utf-8")
    with pytest.raises(TableError, match=rf"t\.csv: column '{diagnosis}' .* say with --label-column"):
        read_labelled(path, refuse_diagnosed=True)
    found = read_labelled(path, label_column="error_label", refuse_diagnosed=True)
    assert (found.label_sets, found.column) == ([frozenset({ErrorType.VAGUE})], "error_label")


@pytest.mark.parametrize("cell", ["", "Nonsense", "No Error; Vague", "Vague; Vague"])
def test_what_is_no_label_set_is_told_with_its_place(tmp_path: Path, cell: str) -> None:
    with pytest.raises(TableError, match=r"t\.csv, row 1, column 'labels': "):
        read_labelled(table(tmp_path, "labels", cell))


def test_types_as_an_option() -> None:
    assert parse_types("off-target answer,VAGUE, spell_error") == (
        ErrorType.SPELL_ERROR,
        ErrorType.VAGUE,
        ErrorType.OFF_TARGET_ANSWER,
    )
    assert parse_types("all") == tuple(ErrorType)
    with pytest.raises(TableError, match="'x', 'y': no error type"):
        parse_types("vague,x,y")
    with pytest.raises(TableError, match="nothing: no error type"):
        parse_types(" , ")

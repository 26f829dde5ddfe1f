"""The Verifier: whether a label set is right, whatever way the model reads the set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erreval.diagnosis.examples import one_by_one, verifier_examples
from erreval.diagnosis.verifier import Verifier
from erreval.errors import ErrevalError
from erreval.taxonomy import ErrorType


@pytest.fixture(scope="module")
def standard_verifier(train_tiny: Any, separable: Any) -> Path:
    """A Verifier with the backbone's own head, which reads the label set as text before the question."""
    examples = verifier_examples(*separable, 2, np.random.default_rng(3))
    folder: Path = train_tiny("verifier", examples, head="standard", epochs=1)[0]
    return folder


def test_right_sets_are_told_from_perturbed_ones(tiny_verifier: Path, separable: Any) -> None:
    tried = one_by_one(verifier_examples(*separable, 3, np.random.default_rng(11)))
    verifier = Verifier.load(tiny_verifier)
    p = verifier.predict([q for q, _, _ in tried], [labels for _, labels, _ in tried])
    right = np.array([r for _, _, r in tried])
    assert p.shape == right.shape
    assert 0 <= p.min() <= p.max() <= 1
    assert np.mean((p >= 0.5) == right) > 0.9


@pytest.mark.parametrize("kind", ["tiny_verifier", "standard_verifier"])
def test_order_does_not_change_a_verdict(kind: str, request: pytest.FixtureRequest, separable: Any) -> None:
    verifier = Verifier.load(request.getfixturevalue(kind))
    questions, sets = separable
    shuffled = np.random.default_rng(5).permutation(len(questions))
    straight = verifier.predict(questions, sets)
    turned = verifier.predict([questions[k] for k in shuffled], [sets[k] for k in shuffled])
    np.testing.assert_allclose(turned, straight[shuffled], atol=1e-6)
    alone = [float(verifier.predict([q], [s])[0]) for q, s in zip(questions[:4], sets[:4], strict=True)]
    np.testing.assert_allclose(alone, straight[:4], atol=1e-6)


@pytest.mark.parametrize("kind", ["tiny_verifier", "standard_verifier"])
def test_the_label_set_is_read(kind: str, request: pytest.FixtureRequest, separable: Any) -> None:
    verifier = Verifier.load(request.getfixturevalue(kind))
    question = separable[0][0]
    sets = [frozenset({t}) for t in ErrorType]
    assert len(set(verifier.predict([question] * len(sets), sets).round(6))) > 1


def test_what_is_no_verifier_is_refused_and_nothing_gives_nothing(
    tiny_identifier: Path, tiny_verifier: Path, tmp_path: Path
) -> None:
    with pytest.raises(ErrevalError, match="not a Verifier"):
        Verifier.load(tiny_identifier)
    with pytest.raises(ErrevalError, match="no model in this folder"):
        Verifier.load(tmp_path)
    assert Verifier.load(tiny_verifier).predict([], []).shape == (0,)

"""Good questions with passage and answer, as the stages use them: to inject errors into, and to learn what fits."""

from __future__ import annotations

import numpy as np
import pandas as pd

from erreval.diagnosis.injection.examples import GoodExample


def good_examples(pairs: pd.DataFrame) -> list[GoodExample]:
    """Rows of a table of pairs, in order."""
    columns = (pairs[name].tolist() for name in ("passage", "question", "answer", "source"))
    return [GoodExample(passage=p, question=q, answer=a, source=s) for p, q, a, s in zip(*columns, strict=True)]


def with_stories(pairs: pd.DataFrame, fewest: int, rng: np.random.Generator) -> pd.DataFrame:
    """All encyclopaedic pairs, like the benchmarks', and as many drawn stories, or ``fewest`` where that is more.

    Args:
        pairs: With the column ``register``.
        fewest: Stories to draw where there are fewer encyclopaedic pairs than that.
        rng: Draws the stories.
    """
    own = pairs[pairs["register"] == "encyclopaedic"]
    stories = pairs[pairs["register"] != "encyclopaedic"]
    return pd.concat([own, stories.iloc[rng.permutation(len(stories))[: max(len(own), fewest)]]])

from erreval.baselines.trivial import TRIVIAL_FEATURES
from erreval.records import Question


def values(text, answer=None):
    question = Question(question=text, answer=answer)
    return [feature(question) for feature in TRIVIAL_FEATURES.values()]


def test_the_four_features():
    # words, question mark, question word or auxiliary, answer inside
    assert values("Who wrote it?", "Smith") == [3.0, 1.0, 1.0, 0.0]
    assert values("no", "No") == [1.0, 0.0, 0.0, 1.0]
    assert values("Name the Whole thing") == [4.0, 0.0, 0.0, 0.0]

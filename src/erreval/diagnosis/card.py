"""An explanation as one HTML page that needs nothing else: no scripts, no fonts, no network; light and dark."""

from __future__ import annotations

import html

from erreval.diagnosis.explanation import ANSWER, Explanation, Verdict
from erreval.diagnosis.highlight import as_html, visible
from erreval.taxonomy import DEFINITIONS, format_label_set


def explanation_card(explanation: Explanation) -> str:
    """The page. All text of the question, answer and passage is escaped; marks are numbered, not only coloured."""
    question, diagnosis = explanation.question, explanation.diagnosis
    labels = format_label_set(diagnosis.labels)
    targets = {mark: f"evidence-{mark}" for mark in explanation.marks} | {ANSWER: "answer"}
    asked = as_html(explanation.marked_question(), targets)
    passage = as_html(explanation.marked_passage(), targets) or '<span class="none">There is no passage.</span>'
    answer = _e(question.answer) if question.answer else '<span class="none">There is no answer.</span>'
    note = f'<p class="note">Note: {_e(diagnosis.note)}</p>' if diagnosis.note else ""
    return "\n".join(
        part
        for part in (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_e(labels)}: {question.question_id}</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>{_e(labels)}</h1>",
            f"<p>Question <code>{question.question_id}</code>, diagnosed by {_e(diagnosis.model)}.</p>",
            note,
            f'<h2>Question</h2><p class="text" id="question">{asked}</p>',
            f'<h2>Answer <small>({ANSWER})</small></h2><p class="text" id="answer">{answer}</p>',
            f'<h2>Passage</h2><p class="text" id="passage">{passage}</p>',
            _evidence(explanation),
            _verdicts(explanation),
            _scores(explanation),
            _found_in(explanation),
            "</main></body></html>\n",
        )
        if part
    )


def _evidence(explanation: Explanation) -> str:
    if not explanation.marks:
        return "<h2>Evidence</h2><p>The detectors found nothing.</p>"
    items = "".join(
        f'<li id="evidence-{mark}"><strong>{_e(found.error.value)}</strong>'
        f"{'' if explanation.among_labels(found) else ' (a detector’s finding, not among the labels)'}: "
        f"{_e(found.message)} <small>strength {found.score:.2f}</small></li>"
        for mark, found in explanation.marks.items()
    )
    return f"<h2>Evidence</h2><ol>{items}</ol>"


def _verdicts(explanation: Explanation) -> str:
    head = (
        f'<tr><th scope="col">Type</th><th scope="col">{explanation.scale.capitalize()}</th>'
        '<th scope="col">Threshold</th><th scope="col">Verdict</th></tr>'
    )
    rows = "".join(_verdict(verdict) for verdict in explanation.verdicts)
    return f"<h2>Types</h2><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _verdict(verdict: Verdict) -> str:
    threshold = "" if verdict.threshold is None else f"{verdict.threshold:.2f}"
    value, kind = "", ' class="named"' if verdict.named else ""
    if verdict.value is not None:
        share = f"{verdict.value:.3f}"
        value = f'<meter min="0" max="1" value="{share}" aria-hidden="true"></meter> {share}'
    return (
        f'<tr{kind}><th scope="row">{_e(verdict.type.value)}<br><small>{_e(DEFINITIONS[verdict.type])}</small></th>'
        f'<td class="number">{value}</td><td class="number">{threshold}</td>'
        f"<td>{'✔ ' * verdict.named}{_e(verdict.told)}</td></tr>"
    )


def _scores(explanation: Explanation) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_e(dimension.value.replace("_", " "))}</th>'
        f'<td class="number">{"not judged" if score is None else f"{score:.3f}"}</td></tr>'
        for dimension, score in explanation.scores.items()
    )
    head = '<tr><th scope="col">Dimension</th><th scope="col">Score, 0 to 1</th></tr>'
    return f"<h2>Diagnosis scores</h2><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _found_in(explanation: Explanation) -> str:
    items = "".join(f"<li>{_e(table)}</li>" for table in explanation.found_in)
    return f"<h2>Found in</h2><ul>{items}</ul>" if items else ""


def _e(value: object) -> str:
    return html.escape(visible(str(value)))


_STYLE = """
:root { color-scheme: light dark; --line: #8886; --mark: #ffe58a; --ink: #1a1a1a; --edge: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --mark: #5a4300; --ink: #fff3cd; --edge: #e3b341; } }
body { font: 16px/1.6 system-ui, sans-serif; margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
h1 { margin-bottom: 0; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .3rem; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; padding: .6rem .8rem; border: 1px solid var(--line);
  border-radius: .4rem; }
.none, .note { font-style: italic; }
mark { background: var(--mark); color: var(--ink); border-bottom: 2px solid var(--edge); }
sup { font-size: .75em; line-height: 0; user-select: none; }
li:target, #answer:target { outline: 2px solid var(--edge); }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
tbody th { font-weight: 400; } .named th, .named td { font-weight: 700; } small { font-weight: 400; }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
"""

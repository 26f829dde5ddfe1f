"""``erreval inject``: training data by the paper's route, one chat model writing and others judging."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from erreval.cli_columns import column_options
from erreval.cli_outputs import check_outputs
from erreval.cli_progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from erreval.chat.batch import Batch
    from erreval.chat.models import ReadyModel
    from erreval.data.columns import ColumnMap
    from erreval.diagnosis.injection.by_llm.outcome import Account
    from erreval.diagnosis.injection.by_llm.plan import Item, Seed
    from erreval.diagnosis.injection.by_llm.route import Estimate, Written


@click.command()
@click.argument("table", metavar="QUESTIONS", type=click.Path(path_type=Path))
@click.option("--writer", required=True, help="The model that writes, by its name in models.yaml.")
@click.option("--judges", required=True, metavar="A,B,C", help="The models that judge the labels.")
@click.option("--types", default="all", show_default=True, help="Error types, separated by commas; each in turn.")
@click.option("-n", "count", required=True, type=click.IntRange(min=1), help="How many questions to write.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The labelled set.")
@click.option("--seeds", type=click.Path(path_type=Path), help="Labelled examples. [default: the 20 published ones]")
@click.option("--agree", default=2, show_default=True, type=click.IntRange(min=1), help="Judges that must agree …")
@click.option(
    "--confidence", default=0.8, show_default=True, type=click.FloatRange(0, 1), help="… with this confidence."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of what is drawn.")
@click.option("--concurrency", default=8, show_default=True, type=click.IntRange(1, 256), help="Calls in flight.")
@click.option("--models", default="models.yaml", show_default=True, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Print the number of calls and end; nothing is asked or written.")
@column_options
def inject(
    table: Path,
    writer: str,
    judges: str,
    types: str,
    count: int,
    output: Path,
    seeds: Path | None,
    agree: int,
    confidence: float,
    seed: int,
    concurrency: int,
    models: Path,
    dry_run: bool,
    columns: ColumnMap,
    encoding: str,
) -> None:
    """Have flawed questions written and judged by chat models (ErrEval, section 3.2).

    For the passages and answers of QUESTIONS, a table of sound questions, the writer makes one flawed question each
    after a labelled example; every judge then says how sure it is that the labels are exactly right. What enough of
    them are sure of goes into OUTPUT. Every call is kept in OUTPUT.calls.jsonl: a rerun goes on from there, and other
    thresholds cost nothing.
    """
    import numpy as np

    from erreval.chat.journal import read_journal
    from erreval.data.labelled import parse_types
    from erreval.data.tables import read_questions, write_table
    from erreval.diagnosis.injection.by_llm.outcome import labelled_set
    from erreval.diagnosis.injection.by_llm.plan import draw_items
    from erreval.diagnosis.injection.by_llm.route import Agreement, estimate
    from erreval.errors import ErrevalError

    names = _judge_names(judges, writer, agree)
    chosen = parse_types(types)
    journal = output.with_name(f"{output.name}.calls.jsonl")
    check_outputs([table, seeds, models], [output], [journal])
    bases, _ = read_questions(table, columns, encoding=encoding)
    items = draw_items(bases, _read_seeds(seeds, encoding), chosen, count, np.random.default_rng(seed))
    ready = _models([writer, *names], models, ask=not dry_run)
    calls = estimate(
        items, _identity(ready[writer]), {name: _identity(ready[name]) for name in names}, read_journal(journal)
    )
    _tell(calls, writer, len(items))
    if dry_run:
        return
    batch = _run(items, ready, writer, names, journal, concurrency)
    done = [batch.results[k] for k in sorted(batch.results)]
    frame, account = labelled_set(done, Agreement(agree, confidence), writer)
    _account(account)
    if account.kept:
        write_table(frame, output)
        click.echo(f"{output}: {len(frame)} questions; every prompt and reply: {journal}")
    if batch.failures:
        first = next(iter(batch.failures.values()))
        raise ErrevalError(f"{len(batch.failures)} of {len(items)} items have a failed call ({first}); run it again")
    if not account.kept:
        raise ErrevalError(f"nothing stayed, so {output} is not written; see the replies in {journal}")


def _judge_names(judges: str, writer: str, agree: int) -> list[str]:
    from erreval.errors import ErrevalError

    names = [name.strip() for name in judges.split(",") if name.strip()]
    problems = []
    if len(set(names)) != len(names):
        problems.append("a judge is named twice: its second verdict would be the first one again")
    if writer in names:
        problems.append(f"{writer} would judge what it has written; name another judge")
    if len(names) < agree:
        problems.append(f"{len(names)} judges cannot make {agree} that agree; name more or lower --agree")
    if problems:
        raise ErrevalError(f"--judges {judges}: {'; '.join(problems)}")
    return names


def _read_seeds(path: Path | None, encoding: str) -> list[Seed]:
    from erreval.data.labelled import read_labelled
    from erreval.diagnosis.injection.by_llm.plan import Seed

    if path is not None:
        labelled = read_labelled(path, encoding=encoding)
        return [Seed(q, labels) for q, labels in zip(labelled.questions, labelled.label_sets, strict=True)]
    from erreval.data.readers.qgeval import read_seeds
    from erreval.data.sources import fetch
    from erreval.frames import label_sets_of, questions_of

    published = read_seeds(fetch(["seeds"])["seeds"][0].parent)
    if published.labels is None:
        raise AssertionError("the reader of the seeds gives labels")
    return [
        Seed(q, labels)
        for q, labels in zip(questions_of(published.questions), label_sets_of(published.labels), strict=True)
    ]


def _models(names: Sequence[str], path: Path, *, ask: bool) -> Mapping[str, ReadyModel]:
    from erreval.chat.models import named_models, ready_models

    return {model.name: model for model in (ready_models if ask else named_models)(names, path)}


def _identity(model: ReadyModel) -> tuple[str, str]:
    return model.endpoint.address, model.served


def _tell(calls: Estimate, writer: str, items: int) -> None:
    judges = ", ".join(f"{name} {number}" for name, number in calls.judges.items())
    click.echo(
        f"{items} questions, at most {calls.most} calls: {writer} {calls.writer} to write; {judges} to judge "
        f"({calls.kept} are kept from before)"
    )


def _run(
    items: Sequence[Item],
    ready: Mapping[str, ReadyModel],
    writer: str,
    judges: Sequence[str],
    journal: Path,
    concurrency: int,
) -> Batch[Written]:
    import asyncio
    from contextlib import AsyncExitStack

    from erreval.chat.client import ChatClient
    from erreval.chat.journal import Journal
    from erreval.diagnosis.injection.by_llm.route import write_and_judge

    async def work(kept: Journal) -> Batch[Written]:
        stopping = asyncio.Event()
        async with AsyncExitStack() as stack:
            clients = {
                name: await stack.enter_async_context(ChatClient(model, stopping=stopping))
                for name, model in ready.items()
            }
            return await write_and_judge(
                items,
                clients[writer],
                [clients[name] for name in judges],
                kept,
                concurrency=concurrency,
                stopping=stopping,
                report=progress_bar([item.base for item in items]),
            )

    with Journal(journal) as kept:
        return asyncio.run(work(kept))


def _account(account: Account) -> None:
    click.echo(f"{account.items} items: {account.kept} stay, {account.doubted} not confirmed by enough judges")
    if account.repeated:
        click.echo(f"  {account.repeated} written before in the same words, left out")
    for reason, number in account.unread.items():
        click.echo(f"  {number} not written: {reason}")
    for reason, number in account.unread_verdicts.items():
        click.echo(f"  {number} verdicts unscored, {reason}")

"""The flow ``evaluate``: diagnose a benchmark's questions and compare with people."""

from __future__ import annotations

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from erreval.errors import StageError
from erreval.layout import Layout
from flows.parameters import EvaluateParameters, record
from flows.places import mlflow_address, parameter_file, project
from flows.plan import evaluate_stages, refine_stages
from flows.report import evaluation_page
from flows.running import changed_stages, close_killed_run, current_run, link, run_stages, supervised
from flows.workspace import workspace


@flow(name="evaluate", retries=0, persist_result=False)
def evaluate(parameters: EvaluateParameters) -> dict[str, str]:
    """Diagnose the benchmark with the champion of the refinement and correlate with people, beside the floor.

    Unless it is asked to, it never trains: where the refinement that params.yaml describes is not finished, it says
    so and ends.

    Args:
        parameters: What to change; everything left empty stays as params.yaml has it.

    Returns:
        For each stage whether it ran, was restored or was unchanged.

    Raises:
        StageError: The refinement is not up to date with params.yaml.
    """
    supervised()
    root = project()
    with workspace(root, *current_run()) as held:
        close_killed_run(held.left_behind)
        settings = record(parameter_file(root), parameters)
        changed = changed_stages(root, held)
        before = refine_stages(settings)
        stale = next((name for name in before if name in changed), None)
        if stale and parameters.when_stale == "stop":
            raise StageError(
                f"the refinement that params.yaml describes is not finished (from stage {stale} on); "
                "run the flow refine, or `erreval refine`, first"
            )
        stages = [*(before if stale else ()), *evaluate_stages(settings)]
        outcomes = run_stages(stages, root, held, changed=changed, label=settings.profile)
        link("pipelines.publish_evaluation", root, held)
        page = evaluation_page(Layout(settings.profile, root), mlflow_address(root))
        create_markdown_artifact(page, key="evaluation", description=f"Evaluation in profile {settings.profile}")
    return outcomes

"""The flow ``refine``: rounds of training, selecting and labelling, until the Error Identifier is assessed."""

from __future__ import annotations

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from erreval.layout import Layout
from flows.parameters import RefineParameters, record
from flows.places import mlflow_address, parameter_file, project
from flows.plan import refine_stages
from flows.report import refinement_page
from flows.running import close_killed_run, current_run, link, run_stages, supervised
from flows.workspace import workspace


@flow(name="refine", retries=0, persist_result=False)
def refine(parameters: RefineParameters) -> dict[str, str]:
    """Train the Error Identifier and the Verifier in rounds; questions that they are unsure about go to people.

    What the form changes is written to params.yaml first; `dvc repro publish_refinement` rebuilds the same.

    Args:
        parameters: What to change; everything left empty stays as params.yaml has it.

    Returns:
        For each stage whether it ran, was restored or was unchanged.
    """
    supervised()
    root = project()
    with workspace(root, *current_run()) as held:
        close_killed_run(held.left_behind)
        settings = record(parameter_file(root), parameters)
        outcomes = run_stages(refine_stages(settings), root, held, label=settings.profile)
        link("pipelines.publish_refinement", root, held)
        page = refinement_page(Layout(settings.profile, root), mlflow_address(root))
        create_markdown_artifact(page, key="refinement", description=f"Refinement in profile {settings.profile}")
    return outcomes

"""Stage backbone: the pretrained encoder as a versioned folder."""

from __future__ import annotations

from erreval.diagnosis.backbone import save_backbone
from pipelines.context import open_context
from pipelines.supervision import run, stage

PARAMS = ("encoder",)


def main() -> None:
    """Write the encoder that training starts from."""
    here = open_context("backbone", PARAMS)
    with stage("backbone", [here.layout.backbone], profile=here.settings.profile) as work:
        save_backbone(here.settings.encoder.backbone, work.path(here.layout.backbone))


if __name__ == "__main__":
    run(main)

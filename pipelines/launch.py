"""How a training stage comes to run in as many processes as params.yaml says.

``accelerate launch`` starts several processes only where it takes the machine for one with several GPUs: on a CPU its
simple launcher starts one, whatever ``--num_processes`` says, unless an MPI hostfile is given. ``--multi_gpu`` is what
makes it start them all, on CPUs too, where they join over gloo because training tells Trainer to use the CPU.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from erreval.sections import AccelerateSettings
from erreval.settings import load_settings


def launch_command(module: str, arguments: list[str], wanted: AccelerateSettings) -> list[str]:
    """The command that runs a module in several processes, which train together."""
    return [
        *(sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu"),
        *("--num_machines", "1", "--num_processes", str(wanted.processes), "--main_process_port", "0"),
        *("--num_cpu_threads_per_process", str(wanted.threads)),
        *("--mixed_precision", "no", "--dynamo_backend", "no"),  # training sets its precision itself
        *("-m", module, *arguments),
    ]


def launch(module: str, main: Callable[[], None]) -> None:
    """Run ``main`` in this process, or become the launcher of the processes that each run it.

    Args:
        module: Name of the stage's module, run again in every process.
        main: Its work.

    Raises:
        SettingsError: params.yaml has mistakes.
    """
    wanted = load_settings(Path("params.yaml")).accelerate
    # Read by torch when it is imported, which training does late; the number of threads changes the last digits.
    os.environ["OMP_NUM_THREADS"] = str(wanted.threads)
    if wanted.processes > 1 and "LOCAL_RANK" not in os.environ:
        command = launch_command(module, sys.argv[1:], wanted)
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    main()

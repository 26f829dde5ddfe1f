"""One module a DVC stage: read deps, call the library, write outs; no logic of its own."""

import os

# Before torch and transformers are imported: two idle OpenMP threads must not spin beside another busy process, and
# a stage's log should hold what the stage says.
for _name, _value in {
    "OMP_WAIT_POLICY": "passive",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}.items():
    os.environ.setdefault(_name, _value)

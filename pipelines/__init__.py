"""One module a DVC stage: read deps, call the library, write outs; no logic of its own."""

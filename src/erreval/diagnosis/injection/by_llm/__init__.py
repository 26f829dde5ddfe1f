"""Error injection by chat models (ErrEval, section 3.2): one writes, three judge whether the labels are right.

``plan`` draws what to write, ``prompts`` words it, ``replies`` reads what comes back,
``route`` does it, ``outcome`` makes a labelled set of it.
"""

"""Rule-based injection of errors into good questions: training data with minimal pairs.

``inject.inject`` breaks one question in one way, ``inject.build_labelled_set`` draws a whole training set.
One module a family of errors: ``form``, ``clarity``, ``content``, ``answer``.
"""

"""Authoring tools: one source per notebook, everything else derived from it.

chapters/NN/lab.py -> solutions/NN.ipynb (executed, stamped) -> labs/NN.ipynb
"""


class PipelineError(Exception):
    """An error of authoring; the message says what went wrong and what to do."""

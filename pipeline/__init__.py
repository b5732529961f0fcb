"""Authoring tools: one source per notebook, everything else derived from it.

chapters/NN/lab.py -> solutions/NN.ipynb (executed, stamped) -> labs/NN.ipynb
"""


class PipelineError(Exception):
    """What went wrong and what to do about it, in words meant for an author."""

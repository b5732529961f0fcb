"""Translation of a learner's kernel to the Python that runs: plain numbers, memory."""

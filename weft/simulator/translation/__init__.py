"""From a learner's kernel to the Python that runs: plain numbers and memory."""

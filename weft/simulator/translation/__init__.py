"""From a learner's kernel to the Python function that runs: plain numbers and memory."""

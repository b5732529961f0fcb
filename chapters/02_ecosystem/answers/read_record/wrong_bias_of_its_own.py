# verdict: answer
# Three operations are three kernels.
def read_record(question):
    """Return what a record tells."""
    return {  # <- here
        "A": "eager",
        "B": "by hand",
        "C": "compile, CUDA graph",
        "D": "bfloat16",
        "E": "eager, CUDA graph",
        "bias in A": "one of its own",
        "bias in C": "the ReLU",
    }[question]

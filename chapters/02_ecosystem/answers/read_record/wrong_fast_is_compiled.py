# verdict: answer
# The fastest of all must be the compiler.
def read_record(question):
    """Return what a record tells."""
    return {  # <- here
        "A": "eager",
        "B": "by hand",
        "C": "compile, CUDA graph",
        "D": "compile, CUDA graph",
        "E": "eager, CUDA graph",
        "bias in A": "the product",
        "bias in C": "the ReLU",
    }[question]

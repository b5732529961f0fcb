# verdict: answer
# A layer is a product, and the rest comes after it.
def read_record(question):
    """Return what a record tells."""
    return {  # <- here
        "A": "eager",
        "B": "by hand",
        "C": "compile, CUDA graph",
        "D": "bfloat16",
        "E": "eager, CUDA graph",
        "bias in A": "the ReLU",
        "bias in C": "the ReLU",
    }[question]

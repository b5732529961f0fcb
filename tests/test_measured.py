"""What a digest of measurements depends on, and what it does not."""

from pathlib import Path

import jupytext
import pytest

from pipeline import measured

LAB = """\
# %% [markdown]
# # 42 · A lab

# %%
import weft
from numba import cuda
from weft import bench, check

weft.lab("42_lab")

# %% tags=["given"]
SIZE = 256

# %%
@cuda.jit
def mine(x, out):
    \"\"\"Copy x.\"\"\"
    # BEGIN SOLUTION
    i = cuda.grid(1)
    out[i] = x[i]
    # END SOLUTION

# %%
def inputs(rng, n):
    return rng.random(n)

check(mine, spec=lambda x: x, inputs=inputs, sizes=[SIZE])

# %%
@cuda.jit
def theirs(x, out):
    out[cuda.grid(1)] = x[cuda.grid(1)]

if weft.GPU:
    import torch

    x = torch.rand(1 << 20, device="cuda")
    out = torch.empty_like(x)

guess = {"mine": None}
table = bench.compare(
    "a copy",
    lambda: {
        "mine": lambda: mine[4096, SIZE](x, out),
        "theirs": lambda: theirs[4096, SIZE](x, out),
    },
    baseline="theirs",
    guess=guess,
)
table

# %%
for size in (64, 128):
    limit(size)
    bench.compare(f"in blocks of {size}", lambda: {"mine": lambda: mine[9, size](x)})

# %%
table.expect("mine", at_least=0.9)
"""


@pytest.fixture
def chapter(tmp_path: Path) -> Path:
    folder = tmp_path / "chapters" / "42_lab"
    folder.mkdir(parents=True)
    (folder / "lab.py").write_text(LAB)
    return folder


def digest(chapter: Path) -> str:
    nb = jupytext.reads((chapter / "lab.py").read_text(), fmt="py:percent")
    return measured.digest(chapter.parents[1], chapter.name, nb)


def edit(chapter: Path, old: str, new: str) -> None:
    path = chapter / "lab.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# # 42 · A lab", "# # 42 · Another"),
        ("Copy x.", "Copy x into out,\n    all of it."),
        ("# BEGIN SOLUTION", "# about 2 lines\n    # BEGIN SOLUTION"),
        ("return rng.random(n)", "return rng.random(n) - 1"),
        ("sizes=[SIZE]", "sizes=[SIZE, 3], limits={'loads': 1}"),
        ('{"mine": None}', '{"mine": 2}'),
        ("guess=guess,", 'guess=guess, unsteady="a busy host",'),
        ("at_least=0.9", "at_least=0.8"),
        ("table.expect", "import matplotlib\n\ntable.expect"),
    ],
)
def test_words_checks_and_guesses_do_not_count(
    chapter: Path, old: str, new: str
) -> None:
    before = digest(chapter)
    edit(chapter, old, new)
    assert digest(chapter) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("out[i] = x[i]", "out[i] = x[i] + x[i]"),
        ("out[cuda.grid(1)] = x[cuda.grid(1)]", "out[cuda.grid(1)] = 0"),
        ("SIZE = 256", "SIZE = 128"),
        ("1 << 20", "1 << 21"),
        ("mine[4096, SIZE]", "mine[2048, SIZE]"),
        ('baseline="theirs"', 'baseline="mine"'),
        ("limit(size)", "limit(2 * size)"),
        ("(64, 128)", "(64, 96)"),
    ],
)
def test_kernels_launches_and_data_do(chapter: Path, old: str, new: str) -> None:
    before = digest(chapter)
    edit(chapter, old, new)
    assert digest(chapter) != before


KERNELS = '''"""The other kernel."""
from numba import cuda


@cuda.jit
def theirs(x, out):
    """Copy."""
    out[cuda.grid(1)] = x[cuda.grid(1)]
'''
MEASURE = """
import weft
from weft import bench

from .kernels import theirs

SIZE = 256


def data():
    import torch

    x = torch.rand(1 << 20, device="cuda")
    out = torch.empty_like(x)
    return x, out


def copies(kernel, guess=None):
    x, out = data()
    return bench.compare(
        "a copy",
        lambda: {
            "mine": lambda: kernel[4096, SIZE](x, out),
            "theirs": lambda: theirs[4096, SIZE](x, out),
        },
        baseline="theirs",
        guess=guess,
    )
"""


def test_code_may_move_into_modules(chapter: Path) -> None:
    edit(chapter, "for size in (64, 128):", "for size in ():")
    edit(chapter, "    limit(size)\n", "")
    before = digest(chapter)
    text = (chapter / "lab.py").read_text()
    a, b = text.index("# %%\n@cuda.jit\ndef theirs"), text.index("table\n")
    call = "# %%\nguess = {}\ntable = chapter.measure.copies(mine, guess=guess)\n"
    (chapter / "lab.py").write_text(text[:a] + call + text[b:])
    assert digest(chapter) != before
    (chapter / "kernels.py").write_text(KERNELS)
    (chapter / "measure.py").write_text(MEASURE)
    assert digest(chapter) == before
    (chapter / "kernels.py").write_text(KERNELS.replace("= x[", "= 2 * x["))
    assert digest(chapter) != before


def test_a_lab_may_take_a_name_from_a_module(chapter: Path) -> None:
    before = digest(chapter)
    text = (chapter / "lab.py").read_text()
    a, b = text.index("@cuda.jit\ndef theirs"), text.index("if weft.GPU:")
    (chapter / "kernels.py").write_text(text[a:b])
    name = "theirs = chapter.kernels.theirs\n\n"
    (chapter / "lab.py").write_text(text[:a] + name + text[b:])
    assert digest(chapter) == before


def test_a_measurement_may_be_passed_the_kernel_beside_a_number(chapter: Path) -> None:
    text = (chapter / "lab.py").read_text()
    a, b = text.index("# %%\n@cuda.jit\ndef theirs"), text.index("table\n")
    call = "# %%\nguess = {{}}\ntable = chapter.measure.copies({})\n"
    (chapter / "kernels.py").write_text(KERNELS)

    def moved(parameters: str, arguments: str) -> str:
        (chapter / "lab.py").write_text(text[:a] + call.format(arguments) + text[b:])
        wider = MEASURE.replace("kernel[", "mine[")
        wider = wider.replace("copies(kernel,", f"copies({parameters},")
        (chapter / "measure.py").write_text(wider)
        return digest(chapter)

    alone = moved("times", "3, guess=guess")
    assert moved("times, mine", "3, mine, guess=guess") == alone
    assert moved("times, mine", "4, mine, guess=guess") != alone


def test_what_is_left_out_without_a_tool_does_not_count(chapter: Path) -> None:
    before = digest(chapter)
    edit(
        chapter,
        "SIZE = 256\n",
        'if weft.has_tools("ninja"):\n    SIZE = 256\nelse:\n    SIZE = 0\n',
    )
    assert digest(chapter) == before
    edit(chapter, "SIZE = 256\n", "SIZE = 128\n")
    assert digest(chapter) != before

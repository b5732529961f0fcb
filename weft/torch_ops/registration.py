"""What the dispatcher knows of an operator: one definition per name, the last."""

import sys

from weft.checking.source import line_with
from weft.checking.verdict import Failed, Verdict
from weft.torch_ops.written import Written


def current(written: Written) -> None:
    """Refuse an operator that another has replaced. Raises `Failed`.

    Two definitions under one name: the dispatcher forgets the first, and calling what
    is left of it can end the process.
    """
    operator = written.thing
    defined = sys.modules["torch._library.custom_ops"].OPDEFS
    name = getattr(operator, "_qualname", "")
    other = defined.get(name)
    if other is None or other is operator:
        return
    later = other._init_fn
    raise Failed(
        Verdict(
            written.name,
            "stale",
            f"Since `{written.name}` was made, `{later.__name__}` has taken its name, "
            f'"{name}".',
            "PyTorch keeps one operator per name, the last. If the two are different "
            f"operators, each needs a name; then run the cell of `{written.name}` "
            "again.",
            line_with(later, "def "),
            headline="another operator has its name",
        )
    )

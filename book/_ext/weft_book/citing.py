"""Labels of sources that stay readable when one author has many in a year.

pybtex's own style goes on after [NVIDIA26z] with [NVIDIA26{], whatever character comes
next; here it goes on with [NVIDIA26aa].
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pybtex.plugin
from pybtex.plugin import register_plugin
from pybtex.style.formatting.alpha import Style
from pybtex.style.labels.alpha import LabelStyle
from sphinx.application import Sphinx

NAME = "weft"


def letters(number: int) -> str:
    """Count in letters from 0: a, b, …, z, aa, ab, …"""
    text = ""
    while number >= 0:
        number, rest = divmod(number, 26)
        text = chr(ord("a") + rest) + text
        number -= 1
    return text


class Labels(LabelStyle):
    """Labels such as Williams09, and NVIDIA26a to NVIDIA26zz."""

    def format_labels(self, sorted_entries: Iterable[Any]) -> Iterator[str]:
        labels = [self.format_label(entry) for entry in sorted_entries]
        count, seen = Counter(labels), Counter[str]()
        for label in labels:
            yield label if count[label] == 1 else label + letters(seen[label])
            seen.update([label])


class Sources(Style):
    """pybtex's alpha style, with these labels."""

    default_label_style = Labels


def setup(app: Sphinx) -> None:
    register_plugin("pybtex.style.formatting", NAME, Sources)
    # For each citation, sphinxcontrib-bibtex looks for its backend in the metadata of
    # all installed packages: 900 times in a build.
    pybtex.plugin.find_plugin = cache(pybtex.plugin.find_plugin)

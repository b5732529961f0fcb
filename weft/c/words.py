"""What the compiler's first error means, in plain words, with a question."""

import re

from weft.c.compiler import Complaint
from weft.c.source import Source
from weft.checking.verdict import Verdict

# (pattern of the compiler's message, what it means). GCC's wording, then Clang's.
_MEANINGS = (
    (
        r"invalid preprocessing directive",
        "A line that begins with `#` is for the preprocessor, as `#include` is. How "
        "does a comment begin in C?",
    ),
    (
        r"before '&' token",
        "`&` in a declaration makes a reference, and that is C++. In C, a parameter "
        "that leads to a variable is a pointer. How is it declared?",
    ),
    (
        r"expected .?;|expected '?[,=].*or ';'|expected ';'",
        "A statement or a declaration ends with a semicolon, and the compiler notices "
        "only when it meets what comes next. Is one missing here, or in the line "
        "above?",
    ),
    (
        r"at end of input|expected '}'|expected identifier or '\(' before '}'"
        r"|extraneous closing brace",
        "Braces come in pairs; indentation means nothing to the compiler. Which `{` or "
        "`}` has no partner?",
    ),
    (
        r"implicit declaration|call to undeclared|implicitly declaring",
        "C knows a function only if it has been declared above. A library's are "
        "declared in its header: `malloc` and `free` in `<stdlib.h>`, `memcpy` in "
        "`<string.h>`, `printf` in `<stdio.h>`. Which `#include` is missing?",
    ),
    (
        r"undeclared|unknown type name|type specifier missing|defaults to 'int'",
        "A name exists from its declaration on, and a declaration begins with a type: "
        "`int i = 0;`. Where is this name declared, and how is it spelt there?",
    ),
    (
        r"did you mean to use '->'|member reference type '.*' is a pointer",
        "`.` takes a field out of a struct, `->` out of the struct that a pointer "
        "leads to. Which of the two do you have here?",
    ),
    (
        r"did you mean to use '\.'|is not a pointer; did you mean"
        r"|invalid type argument of '->'",
        "`->` needs a pointer at its left, and this is a struct itself. Which of `.` "
        "and `->` is it then?",
    ),
    (
        r"invalid operands to binary \*",
        "Read as a product, a number times a pointer makes no sense. Did the line "
        "above end with a semicolon, or is a `*` missing or too many?",
    ),
    (
        r"invalid operands to binary",
        "One side is an address and the other a number. Which number lies at the "
        "address, and how do you get at it?",
    ),
    (
        r"invalid type argument of unary '\*'|indirection requires pointer"
        r"|subscripted value",
        "Only a pointer can be followed, with `*p` or `p[i]`. What type has this "
        "expression?",
    ),
    (
        r"'void \*' .*dereferenc|dereferencing 'void|not an object pointer"
        r"|void value not ignored|invalid use of void|incomplete type 'void'",
        "A `void *` says where, not what: nobody knows how many bytes to read there. "
        "To which type must it be converted first?",
    ),
    (
        r"'void \*' used in arithmetic|arithmetic on a pointer to void"
        r"|invalid application of 'sizeof' to a void",
        "The step of a pointer is the size of what it points to, and a `void` has no "
        "size. Which type has the size of one byte?",
    ),
    (
        r"return from incompatible|returning .* from .*incompatible",
        "The value behind `return` has another type than the function promises in its "
        "first line. How many stars has each of the two?",
    ),
    (
        r"makes pointer from integer|makes integer from pointer|incompatible pointer"
        r"|incompatible integer|incompatible types|incompatible type",
        "A number, the address of a number and the address of an address are three "
        "types: count the stars on both sides. Is a `*` or a `&` missing?",
    ),
    (
        r"address of (local|stack)|returns address|stack memory associated",
        "A local variable ends with the call it belongs to, and its address then leads "
        "nowhere. What lives longer than a call?",
    ),
    (
        r"sizeof|divi(des|sion)",
        "`sizeof` a pointer is the size of an address, 8 bytes here, whatever it leads "
        "to; the length of an array is not in it. How does a C function get to know "
        "how long its array is?",
    ),
    (
        r"uninitialized|uninitialised",
        "A local variable, and a block fresh from `malloc`, hold whatever lay in their "
        "memory before; a pointer of that kind leads anywhere. What should it be "
        "before it is used?",
    ),
    (
        r"control reaches end|no return statement|should return a value"
        r"|'return' with no value|does not return a value",
        "The function promises a value and comes to its end without `return`. What "
        "should the caller get?",
    ),
    (
        r"read-only|const-qualified|discards 'const'",
        "`const` in the first line is a promise not to write there. Where else could "
        "the result go?",
    ),
    (
        r"lvalue",
        "At the left of `=` there must be something with a place in memory: a "
        "variable, `*p`, `a[i]`, `p->field`. What is it here?",
    ),
    (
        r"expected (expression|identifier|primary)",
        "At this place the compiler waits for a value or a name, and something else "
        "stands there. Is a sign missing, too many, or in the wrong place?",
    ),
    (
        r"too (few|many) arguments",
        "C counts arguments when it compiles. What does the function's first line ask "
        "for?",
    ),
    (
        r"redefinition|redeclar|conflicting types",
        "One name has been declared in two ways. Which of the two do you want?",
    ),
    (
        r"free' called on|nonnull|nonheap",
        "`free` takes what `malloc` or `calloc` gave, and nothing else. Where does "
        "this pointer come from?",
    ),
)


def meaning(text: str) -> str:
    """Return what an error's text means, "" if it is none we know."""
    for pattern, words in _MEANINGS:
        if re.search(pattern, text):
            return words
    return ""


def refused(source: Source, found: list[Complaint], said: str) -> Verdict:
    """The verdict on a source that does not compile: its first error."""
    errors = [c for c in found if c.error]
    ours = [c for c in errors if c.file == source.file]
    first = (ours or errors or [Complaint("", 0, True, said.strip()[-300:])])[0]
    line = first.line if first.file == source.file else len(source.lines)
    more = len(errors) - 1
    message = f"The compiler says: {_sentence(first.text)}"
    if more > 0:
        message += (
            f" It has {more} more error{'s' * (more > 1)}; they often follow from the "
            "first."
        )
    places = [(source.place(line), "")] if line else []
    headline = ""
    if first.text.startswith(("conflicting types", "undefined reference")):
        headline = "not the function that was asked for"
    return Verdict(
        source.name, "compile", message, meaning(first.text), places, headline=headline
    )


def other_function(source: Source, prototype: str) -> Verdict:
    """The verdict on a source that compiles, but not with what calls it."""
    there = [n for n in source.containing(source.name + "(") if n > 1]
    missing = f" There is no `{source.name}` in the cell." if not there else ""
    return Verdict(
        source.name,
        "compile",
        f"The check calls a function that is declared as `{prototype}`.{missing}",
        "The name, the types of the parameters and the type of the result are a "
        "contract with whoever calls. In what does yours differ?",
        [(source.place(n), "") for n in there[:1]],
        headline="not the function that was asked for",
    )


def _sentence(text: str) -> str:
    text = re.sub(r"'([^']+)'", r"`\1`", text.strip())
    text = re.sub(r"`\*(\w+?)_\d+[^`]*`", r"what `\1` leads to", text)
    return text if text.endswith((".", "?")) else text + "."

"""What the compiler's first error means, in plain words, with a question."""

import re

from weft.c.compiler import Complaint
from weft.c.source import Source
from weft.checking.verdict import Verdict
from weft.wording import rows

# Patterns of the compiler's message, and what it means: GCC's wording, then Clang's.
_MEANINGS = rows(r"""
invalid preprocessing directive
    A line that begins with `#` is for the preprocessor, like `#include`. How does a
      comment begin in C?
before '&' token
    `&` in a declaration makes a reference, which only C++ has. In C, a function that
      changes a caller's variable takes a pointer. How is one declared?
expected .?;|expected '?[,=].*or ';'|expected ';'
    A statement or a declaration ends with a semicolon. The compiler notices that one is
      missing only when it reads what comes next. Is it missing here, or in the line
      above?
at end of input|expected '}'|expected identifier or '\(' before '}'|
extraneous closing brace
    Braces come in pairs, and indentation means nothing to the compiler. Which `{` or
      `}` has no partner?
implicit declaration|call to undeclared|implicitly declaring
    C knows a function only if it has been declared above. Those of a library are
      declared in its header: `malloc` and `free` in `<stdlib.h>`, `memcpy` in
      `<string.h>`, `printf` in `<stdio.h>`. Which `#include` is missing?
undeclared|unknown type name|type specifier missing|defaults to 'int'
    You can use a name only after its declaration, which begins with a type: `int i =
      0;`. Where is this name declared, and how is it spelled there?
did you mean to use '->'|member reference type '.*' is a pointer
    `.` accesses a field of a struct, `->` a field of the struct that a pointer points
      to. Which of the two do you have here?
did you mean to use '\.'|is not a pointer; did you mean|invalid type argument of '->'
    `->` needs a pointer on its left, and this is the struct itself. How do you access a
      field of a struct?
invalid operands to binary \*
    The compiler reads this `*` as a multiplication, and a number times a pointer makes
      no sense. Did the line above end with a semicolon? Is there a `*` too many, or one
      too few?
invalid operands to binary
    One side is an address and the other a number. How do you get the number that is
      stored at the address?
invalid type argument of unary '\*'|indirection requires pointer|subscripted value
    Only a pointer can be followed, with `*p` or `p[i]`. What is the type of this
      expression?
'void \*' .*dereferenc|dereferencing 'void|not an object pointer|void value not ignored|
invalid use of void|incomplete type 'void'
    A `void *` says where something is, but not what it is, so the compiler does not
      know how many bytes to read. To which type must you convert it first?
'void \*' used in arithmetic|arithmetic on a pointer to void|
invalid application of 'sizeof' to a void
    A pointer moves in steps of the size of what it points to, and `void` has no size.
      Which type has the size of one byte?
return from incompatible|returning .* from .*incompatible
    The value after `return` does not have the type that the function promises in its
      first line. How many stars does each of the two types have?
makes pointer from integer|makes integer from pointer|incompatible pointer|
incompatible integer|incompatible types|incompatible type
    A number, the address of a number, and the address of an address have three
      different types. Count the stars on both sides. Is a `*` or a `&` missing?
address of (local|stack)|returns address|stack memory associated
    A local variable is gone when its function returns, and its address then points to
      nothing that is yours. What lives longer than a call?
sizeof|divi(des|sion)
    `sizeof` a pointer is the size of an address, 8 bytes here, whatever it points to.
      It says nothing about the length of an array. How does a C function learn how long
      its array is?
uninitialized|uninitialised
    A local variable, and a block fresh from `malloc`, contain whatever was in their
      memory before; such a pointer can point anywhere. What value should it have before
      it is used?
control reaches end|no return statement|should return a value|'return' with no value|
does not return a value
    The function promises a value, but ends without `return`. What should the caller
      get?
read-only|const-qualified|discards 'const'
    `const` in the first line is a promise not to write there. Where else could the
      result go?
lvalue
    On the left of `=` there must be something that has a place in memory: a variable,
      `*p`, `a[i]`, `p->field`. What is it here?
expected (expression|identifier|primary)
    The compiler expected a value or a name here, and found something else. Is a
      character missing, superfluous, or in the wrong place?
too (few|many) arguments
    The compiler counts the arguments of every call. What does the function's first line
      ask for?
redefinition|redeclar|conflicting types
    One name has been declared in two ways. Which of the two do you want?
free' called on|nonnull|nonheap
    `free` takes an address that `malloc` or `calloc` returned, and nothing else. Where
      does this pointer come from?
""")


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
        "contract with the caller. Where does yours differ?",
        [(source.place(n), "") for n in there[:1]],
        headline="not the function that was asked for",
    )


def _sentence(text: str) -> str:
    text = re.sub(r"'([^']+)'", r"`\1`", text.strip())
    text = re.sub(r"`\*(\w+?)_\d+[^`]*`", r"what `\1` points to", text)
    return text if text.endswith((".", "?")) else text + "."

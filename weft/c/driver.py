"""The program around a learner's function: it reads a case, calls, writes results.

Every array lies in a block of its own, exactly as long as it must be, so that the
address sanitizer sees the first byte beside it.
"""

import struct
from typing import Any

import numpy as np

TYPES = {
    "f4": "float", "f8": "double", "i4": "int", "i8": "long long", "i1": "signed char",
    "u1": "unsigned char", "u4": "unsigned int", "u8": "unsigned long long",
    "i2": "short", "u2": "unsigned short",
}  # fmt: skip
CPU_SECONDS = 2
MEMORY = 1 << 30  # bytes of output at most, beside what the sanitizer limits

HEAD = """\
#define main weft_learners_main
#include "{file}"
#undef main
{prototype};
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void __sanitizer_print_stack_trace(void);
static FILE *weft_in, *weft_out;

static void weft_late(int number)
{{
    static const char said[] = "weft: out of time\\n";
    (void)number;
    if (write(2, said, sizeof said - 1) > 0)
        __sanitizer_print_stack_trace();
    _exit(99);
}}

static void *weft_take(const char *name, size_t bytes)
{{
    void *p = malloc(bytes);
    if (bytes && fread(p, 1, bytes, weft_in) != bytes)
        _exit(98);
    fprintf(stderr, "weft: array %s %p\\n", name, p);
    return p;
}}

static void weft_give(char type, size_t size, const void *p, size_t count)
{{
    unsigned long long head[2] = {{size, count}};
    fwrite(&type, 1, 1, weft_out);
    fwrite(head, sizeof head, 1, weft_out);
    if (count)
        fwrite(p, size, count, weft_out);
    fflush(weft_out);
}}

#define WEFT_TYPE(x) _Generic((x), float: 'f', double: 'f', default: 'i', \\
    unsigned char: 'u', unsigned short: 'u', unsigned: 'u', unsigned long: 'u', \\
    unsigned long long: 'u')
#define give(x) do {{ __typeof__(x) weft_x = (x); \\
    weft_give(WEFT_TYPE(weft_x), sizeof weft_x, &weft_x, 1); }} while (0)
#define give_all(p, n) weft_give(WEFT_TYPE(*(p)), sizeof *(p), (p), (n))

int main(int argc, char **argv)
{{
    struct rlimit cpu = {{{seconds}, {seconds} + 2}}, size = {{1 << 22, 1 << 22}};
    signal(SIGXCPU, weft_late);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_FSIZE, &size);
    if (argc != 3)
        return 97;
    weft_in = fopen(argv[1], "rb");
    weft_out = fopen(argv[2], "wb");
    fprintf(stderr, "weft: begun\\n");
"""
TAIL = """\
    weft_give('e', 1, "", 0);
    fclose(weft_in);
    fclose(weft_out);
    return 0;
}
"""


def program(file: str, prototype: str, names: list[str], case: Any, call: str) -> str:
    """The text of the program for cases like `case`; `file` is the learner's."""
    text = HEAD.format(file=file, prototype=prototype, seconds=CPU_SECONDS)
    arrays = []
    for name, value in zip(names, case, strict=True):
        if isinstance(value, np.ndarray):
            arrays.append(name)
            axes = ("size",) if value.ndim == 1 else ("rows", "cols")
            for axis in axes:
                text += f"    size_t {name}_{axis};\n"
                text += f"    fread(&{name}_{axis}, sizeof(size_t), 1, weft_in);\n"
            count = " * ".join(f"{name}_{axis}" for axis in axes)
            kind = TYPES[value.dtype.str[1:]]
            taken = f'weft_take("{name}", {count} * sizeof({kind}))'
            text += f"    {kind} *{name} = {taken};\n"
        else:
            kind = _scalar(value)
            text += f"    {kind} {name};\n"
            text += f"    fread(&{name}, sizeof {name}, 1, weft_in);\n"
    text += "".join(f"    {line}\n" for line in call.strip().splitlines())
    text += "".join(f"    free({name});\n" for name in arrays)
    return text + TAIL


def _scalar(value: Any) -> str:
    if isinstance(value, np.generic):
        return TYPES[value.dtype.str[1:]]
    return "double" if isinstance(value, float) else "size_t"


def packed(case: Any) -> bytes:
    """One case as the program reads it."""
    data = b""
    for value in case:
        if isinstance(value, np.ndarray):
            data += b"".join(struct.pack("=Q", n) for n in value.shape)
            data += np.ascontiguousarray(value).tobytes()
        elif isinstance(value, np.generic):
            data += value.tobytes()
        else:
            data += struct.pack("=d" if isinstance(value, float) else "=Q", value)
    return data


def unpacked(data: bytes) -> tuple[list[np.ndarray[Any, Any]], bool]:
    """The results that a program wrote, and whether it came to its end."""
    found: list[np.ndarray[Any, Any]] = []
    at = 0
    while at + 17 <= len(data):
        kind = chr(data[at])
        size, count = struct.unpack_from("=QQ", data, at + 1)
        at += 17
        if kind == "e":
            return found, True
        found.append(np.frombuffer(data, f"{kind}{size}", count, at))
        at += size * count
    return found, False

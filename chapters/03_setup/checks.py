"""Toy functions, data sheets, bundles and listings for the checks of lab 03."""

import ctypes

import numpy as np

from .machines import H200, T4

SAID = {}  # function, arguments: its status, and what it leaves in the place


class DriverFunction:
    """A function of the driver that answers from a list, or with a status."""

    def __init__(self, name, answers, status=0):
        self.name = name
        for arguments, answer in answers.items():
            SAID[self, *arguments] = status, answer

    def __call__(self, where, *arguments):
        if isinstance(where, ctypes.Array):
            place = ctypes.c_int.from_buffer(where)  # its first element
        elif hasattr(where, "_obj"):  # of ctypes.byref
            place = where._obj
        else:  # of ctypes.pointer
            place = getattr(where, "contents", None)
        if not isinstance(place, (ctypes.c_int, ctypes.c_uint)):
            raise TypeError(f"{self.name} takes a pointer to an int first")
        status, place.value = SAID[self, *arguments]
        return status

    def __repr__(self):
        return self.name


version = DriverFunction("cuDriverGetVersion", {(): 13000})
attribute = DriverFunction(
    "cuDeviceGetAttribute",
    {(16, 0): 132, (16, 1): 40, (75, 0): 9, (76, 0): 0, (38, 0): 52428800},
)
count = DriverFunction("cuDeviceGetCount", {(): 2})
no_gpu = DriverFunction("cuDeviceGetCount", {(): -1}, status=100)
no_context = DriverFunction("cuCtxGetDevice", {(): 7}, status=201)
ASKED = [
    (version,),
    (attribute, 16, 0),
    (attribute, 16, 1),
    (attribute, 75, 0),
    (attribute, 76, 0),
    (attribute, 38, 0),
    (count,),
    (no_gpu,),
    (no_context,),
]


def told(function, *arguments):
    """Return what a function answers, or -status."""
    status, answer = SAID[function, *arguments]
    return -status or answer


def why_not(function, *rest):
    """Say why the last of `rest` is not what the function answers."""
    *arguments, got = rest
    status, left = SAID[function, *arguments]
    if not status:
        return (
            "The status was 0, so all went well. The answer is in the variable."
        )
    if got == left:
        return (
            "That is what the variable contains. But the status was not 0, so its "
            "contents mean nothing."
        )
    if got == status:
        return "That is the status. Without a minus sign, it looks like an answer."
    return "The status was not 0. The caller needs to know which status it was."


DATA_SHEET = {  # GB/s and GFLOP/s, as NVIDIA gives them
    "T4": (320.0, 8_100.0),
    "A100 40 GB": (1555.0, 19_500.0),
    "L4": (300.0, 30_300.0),
    "H100 SXM": (3350.0, 66_900.0),
}
FACTORS = "name", "sms", "lanes", "khz", "memory_khz", "bus_bits"
GPUS = [
    dict(zip(FACTORS, numbers, strict=True))
    for numbers in [
        ("T4", 40, 64, 1_590_000, 5_001_000, 256),
        ("A100 40 GB", 108, 64, 1_410_000, 1_215_000, 5120),
        ("L4", 58, 128, 2_040_000, 6_251_000, 192),
        ("H100 SXM", 132, 128, 1_980_000, 2_619_000, 5120),
    ]
]
BUNDLES = {  # capability, images: the one used, and why
    ((8, 6), "sm_80 compute_80"): ("sm_80", "same major, lower minor version"),
    ((9, 0), "sm_80 compute_80"): ("compute_80", "8.0 has another major"),
    ((9, 0), "sm_80"): ("no image", "8.0 has another major, and no PTX"),
    ((8, 0), "sm_86 sm_89"): ("no image", "both are newer than the GPU"),
    ((8, 9), "sm_80 sm_86 compute_80"): ("sm_86", "the higher of two that fit"),
    ((12, 0), "sm_75 compute_75 compute_90"): ("compute_90", "the highest PTX"),
    ((7, 5), "sm_80 compute_80"): ("no image", "PTX of a newer GPU does not fit"),
    ((9, 0), "sm_90a compute_80"): ("sm_90a", "made for exactly this GPU"),
    ((10, 0), "sm_90a compute_90a"): ("no image", "both are for 9.0 alone"),
    ((10, 3), "sm_100 compute_100 sm_120"): ("sm_100", "the other is for 12.0"),
    ((12, 1), "sm_90 compute_120"): ("compute_120", "9.0 has another major"),
    ((9, 0), "compute_90"): ("compute_90", "PTX of its own capability"),
    ((9, 0), "compute_89"): ("compute_89", "PTX of any lower capability"),
    ((9, 0), "sm_90 compute_80"): ("sm_90", "machine code before PTX"),
    ((8, 6), "sm_80 compute_86"): ("sm_80", "sm_80 fits, and is machine code"),
    ((8, 9), "sm_86 sm_80"): ("sm_86", "the higher, wherever it is"),
    ((12, 0), "compute_100 compute_90"): ("compute_100", "10.0 is above 9.0"),
    ((8, 0), "compute_86"): ("no image", "8.6 is newer than 8.0"),
    ((9, 0), "compute_90a"): ("compute_90a", "made for exactly this GPU"),
    ((10, 3), "sm_100a compute_90"): ("compute_90", "10.0a is for 10.0 alone"),
}


def bundles():
    """Return the pairs of a capability and the names of images."""
    return [(capability, images.split()) for capability, images in BUNDLES]


def used(capability, images):
    """Return the image that the driver uses."""
    return BUNDLES[capability, " ".join(images)][0]


def why_used(capability, images, answer):
    """Say what the driver uses, and why."""
    return "The driver's choice is " + "{}: {}.".format(
        *BUNDLES[capability, " ".join(images)]
    )


PTX = """
    ld.param.u64      %rd1, [vector_add_param_0];    // a
    ld.param.u64      %rd2, [vector_add_param_1];    // b
    ld.param.u64      %rd3, [vector_add_param_2];    // out
    ld.param.u32      %r2, [vector_add_param_3];     // n
    mov.u32           %r3, %ctaid.x;
    mov.u32           %r4, %ntid.x;
    mov.u32           %r5, %tid.x;
    mad.lo.s32        %r1, %r3, %r4, %r5;            // i
    setp.ge.s32       %p1, %r1, %r2;
    @%p1 bra          $L__BB0_2;

    cvta.to.global.u64 %rd4, %rd1;
    mul.wide.s32      %rd5, %r1, 4;
    add.s64           %rd6, %rd4, %rd5;
    cvta.to.global.u64 %rd7, %rd2;
    add.s64           %rd8, %rd7, %rd5;
    ld.global.f32     %f1, [%rd8];
    ld.global.f32     %f2, [%rd6];
    add.f32           %f3, %f2, %f1;
    cvta.to.global.u64 %rd9, %rd3;
    add.s64           %rd10, %rd9, %rd5;
    st.global.f32     [%rd10], %f3;

$L__BB0_2:
    ret;
"""
IN_FOURS = """
    ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];
    ld.global.nc.v4.f32 {%f5, %f6, %f7, %f8}, [%rd6];
    st.global.v4.f32  [%rd7], {%f9, %f10, %f11, %f12};
"""
MIXED = """
    ld.global.u8      %rs1, [%rd5];
    ld.shared.f32     %f1, [%r4];
    cvt.rn.f64.u16    %fd1, %rs1;
    // st.global.f64  [%rd1], %fd9;    an old version
    st.global.v2.f64  [%rd7], {%fd1, %fd1};
    atom.global.add.f32 %f2, [%rd8], %f1;
"""
LINES = {  # an instruction: bytes loaded, bytes stored
    "ld.global.b16     %rs1, [%rd5];": (2, 0),
    "ld.global.v2.b32  {%r1, %r2}, [%rd5];": (8, 0),
    "ld.global.nc.s64  %rd6, [%rd5];": (8, 0),
    "ld.global.v4.u16  {%rs1, %rs2, %rs3, %rs4}, [%rd5];": (8, 0),
    "ld.local.f64      %fd1, [%rd5];": (0, 0),
    "st.global.s8      [%rd7], %rs1;": (0, 1),
    "st.global.v2.u64  [%rd7], {%rd1, %rd2};": (0, 16),
    "st.shared.b32     [%r4], %r1;": (0, 0),
    "// ld.global.f32  %f1, [%rd5];": (0, 0),
}
MOVED = {PTX: (8, 4), IN_FOURS: (32, 16), MIXED: (1, 16)}


def listings(rng):
    """Return the three above and one more, drawn by lot."""
    drawn = [list(LINES)[k] for k in rng.integers(len(LINES), size=20)]
    text = "".join(f"    {line}\n" for line in drawn)
    MOVED[text] = tuple(np.sum([LINES[line] for line in drawn], axis=0))
    return [(ptx,) for ptx in (PTX, IN_FOURS, MIXED, text)]


def counted(ptx):
    """Return what a listing is known to move."""
    return MOVED[ptx]


LEAST = {  # flops, bytes, machine: ms
    (1 << 26, 12 << 26, T4): 3.355,
    (1 << 26, 12 << 26, H200): 0.1917,
    (2 * 4096**3, 12 * 4096**2, T4): 19.63,
    (2 * 4096**3, 12 * 4096**2, H200): 2.695,
    (20 << 26, 1 << 26, T4): 0.2796,
    (20 << 26, 1 << 26, H200): 0.02632,
}

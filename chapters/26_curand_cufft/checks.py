"""Specifications, inputs and explanations for the checks of lab 26."""

from dataclasses import dataclass

import numpy as np
import torch

from weft.checking.slips import result_if
from weft.checking.source import line_with, returns
from weft.checking.verdict import Failed, Verdict
from weft.libraries.philox import philox_words, words
from weft.wording import several

from .kernels import MULTIPLIERS, WEYL
from .transforms import good_size

ONES = 0xFFFFFFFF
PI = 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344
KNOWN = {
    "zeros": ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    "ones": ((ONES,) * 4, (ONES,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    "pi": (PI, (0xA4093822, 0x299F31D0), "d16cfe09 94fdcceb 5001e420 24126ea1"),
}


def counters_and_key(rng, n):
    """Return counters, a known one first, and the key that belongs to it."""
    counters = rng.integers(0, 1 << 32, (n, 4), dtype=np.uint32)
    first, key, _ = list(KNOWN.values())[(n + 1) % 3]  # of pi first: all differ
    counters[0] = first
    return counters, np.uint32(key)


def rounds_with(counters, key, slip, rounds=10):
    """Scramble counters in rounds with a slip, which is one of `SLIPS`."""
    a, b, c, d = (x.astype(np.uint64) for x in counters.T)
    k, m = (np.uint64(part) for part in key)
    first, second = map(np.uint64, MULTIPLIERS)
    for _ in range(rounds):
        a, b, c, d = (x & ONES_64 for x in slip(a, b, c, d, k, m, first, second))
        k, m = (k + np.uint64(WEYL[0])) & ONES_64, (m + np.uint64(WEYL[1])) & ONES_64
    return np.stack([a, b, c, d], axis=-1).astype(np.uint32)


ONES_64 = np.uint64(ONES)  # the lower half of a product
HALF = np.uint64(32)


def upper(product):
    """Return the upper half of a product of 64 bits."""
    return product >> HALF


def halves_exchanged(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return q ^ b ^ k, upper(q), p ^ d ^ m, upper(p)


def not_crossed(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return upper(p) ^ b ^ k, p, upper(q) ^ d ^ m, q


def no_upper_half(a, b, c, d, k, m, first, second):
    return b ^ k, second * c, d ^ m, first * a


def lower_half_twice(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return q ^ b ^ k, q, p ^ d ^ m, p


def added(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return upper(q) + b + k, q, upper(p) + d + m, p


def new_a(a, b, c, d, k, m, first, second):
    q = second * c
    a = (upper(q) ^ b ^ k) & ONES_64
    p = first * a
    return a, q, upper(p) ^ d ^ m, p


def new_c(a, b, c, d, k, m, first, second):
    p = first * a
    c = (upper(p) ^ d ^ m) & ONES_64
    q = second * c
    return upper(q) ^ b ^ k, q, c, p


def new_b(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return upper(q) ^ q ^ k, q, upper(p) ^ p ^ m, p


def no_key(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return upper(q) ^ b, q, upper(p) ^ d, p


def no_b(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return upper(q) ^ k, q, upper(p) ^ m, p


def b_and_d_exchanged(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return upper(q) ^ d ^ k, q, upper(p) ^ b ^ m, p


def first_key_number_twice(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return upper(q) ^ b ^ k, q, upper(p) ^ d ^ k, p


def second_key_number_twice(a, b, c, d, k, m, first, second):
    p, q = first * a, second * c
    return upper(q) ^ b ^ m, q, upper(p) ^ d ^ m, p


def first_multiplier_twice(a, b, c, d, k, m, first, second):
    p, q = first * a, first * c
    return upper(q) ^ b ^ k, q, upper(p) ^ d ^ m, p


def second_multiplier_twice(a, b, c, d, k, m, first, second):
    p, q = second * a, second * c
    return upper(q) ^ b ^ k, q, upper(p) ^ d ^ m, p


SLIPS = {
    "The first number of the key is used for the new a and for the new c.": (
        first_key_number_twice
    ),
    "The second number of the key is used for the new a and for the new c.": (
        second_key_number_twice
    ),
    "The first multiplier is used for both products.": first_multiplier_twice,
    "The second multiplier is used for both products.": second_multiplier_twice,
    "The halves of each product are exchanged: what does `mul_wide` return first?": (
        halves_exchanged
    ),
    "The product of a goes into a and b, and that of c into c and d.": not_crossed,
    "The upper halves of the products are 0.": no_upper_half,
    "The lower half of each product is used for its upper half as well.": (
        lower_half_twice
    ),
    "Numbers are added where a round combines them with xor.": added,
    "The product of a is made from the new a.": new_a,
    "The product of c is made from the new c.": new_c,
    "The new b and d are used for the new a and c.": new_b,
    "The key is not part of the new a and c.": no_key,
    "The old b and d are not part of the new a and c.": no_b,
    "The new a has the old d in it, and the new c the old b.": b_and_d_exchanged,
}


def likely_mistake(counters, key, out):
    """Return which mistake makes these words, or else what one round should make."""
    given = {"counters": counters, "key": key}
    swapped = WEYL[::-1]
    changes = {
        "The two multipliers are swapped.": {"multipliers": MULTIPLIERS[::-1]},
        "The constants added to the key are swapped.": {"weyl": swapped},
        "The two key numbers are swapped at the start.": {"key": key[::-1]},
        "The first number of the key belongs to a, the second to c.": {
            "key": key[::-1],
            "weyl": swapped,
        },
        "The key is the same in every round.": {"weyl": (0, 0)},
        "The second number of the key is the same in every round.": {
            "weyl": (WEYL[0], 0)
        },
        "The first number of the key is the same in every round.": {
            "weyl": (0, WEYL[1])
        },
        "The first constant is added to both numbers of the key.": {
            "weyl": (WEYL[0],) * 2
        },
        "The second constant is added to both numbers of the key.": {
            "weyl": (WEYL[1],) * 2
        },
        "The key changes too early: the first round uses the key as given.": {
            "key": key + np.uint32(WEYL)
        },
    }
    for last in range(13):
        if last != 10:
            after = several(last, "round")
            reason = f"These are the words after {after}; there should be ten."
            changes[reason] = {"rounds": last}
    for reason, change in changes.items():
        if np.array_equal(out, philox_words(**given | change)):
            return reason
    for reason, slip in SLIPS.items():
        if np.array_equal(out, rounds_with(counters, key, slip)):
            return reason
    return after_one_round(counters, key, out)


def after_one_round(counters, key, out):
    """Return what is wrong with the words of one round, or what they should be."""
    given = {"counters": counters, "key": key, "rounds": 1}
    changes = {
        "The two multipliers are swapped.": {"multipliers": MULTIPLIERS[::-1]},
        "The two key numbers are swapped at the start.": {"key": key[::-1]},
        "The key changes too early: the first round uses the key as given.": {
            "key": key + np.uint32(WEYL)
        },
    }
    made = {what: philox_words(**given | how) for what, how in changes.items()}
    made |= {what: rounds_with(counters, key, by, 1) for what, by in SLIPS.items()}
    if found := [what for what, one in made.items() if np.array_equal(out, one)]:
        said = "These are the words of one round with a mistake in it."
        return " ".join([said, *found[: len(found) == 1]])
    right = philox_words(**given)
    same = (out == right).all(axis=0)
    names = np.array(list("abcd"))
    if same.any():
        *others, last = names[~same]
        which = " and ".join(filter(None, [", ".join(others), last]))
        verb = "differ" if others else "differs"
        return (
            f"Compared with the words after the first round, {which} {verb}, and the "
            "rest is right."
        )
    pairs = zip(names, right[0], strict=True)
    row = ", ".join(f"{name} = {word}" for name, word in pairs)
    return (
        "No common mistake makes these words. Loop once instead of ten times, and "
        f"compare: after the first round, row 0 should be {row}."
    )


def some_words(rng, n):
    """Return words: random ones, the largest, and the smallest.

    The first one has only its highest bit.
    """
    found = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    edges = [0x80000000, ONES, 0, 0xFF, 0x100, 0x40000000, 0xFFFFFF80]
    found[: len(edges)] = np.uint32(edges[:n])
    return found


def upper_24(words):
    """Return the upper 24 bits of each word as a fraction."""
    return upper_bits(words, 24, 24)


def upper_bits(words, bits, scale):
    """Return the upper bits of each word, times 2^-scale."""
    return ((words >> np.uint32(32 - bits)) / 2**scale).astype(np.float32)


odd_bits = result_if(
    {
        "it is made of the lower 24 bits of each word; keep the upper ones": (
            lambda words: ((words & np.uint32(0xFFFFFF)) / 2**24).astype(np.float32)
        ),
        "it is made of all 32 bits of each word; a float32 rounds the largest of them "
        "up to 1": lambda words: words.astype(np.float32) / np.float32(2**32),
        "24 bits are multiplied by 2^-32": (
            lambda words: ((words >> np.uint32(8)) / 2**32).astype(np.float32)
        ),
        "24 bits are divided by 2^24 - 1, so that the largest word gives 1": (
            lambda words: (
                (words >> np.uint32(8)).astype(np.float32) / np.float32(2**24 - 1)
            )
        ),
    }
    | {
        f"it is made of the upper {several(bits, 'bit')} of each word; a float32 has "
        "24": lambda words, bits=bits: upper_bits(words, bits, bits)
        for bits in range(1, 24)
    }
    | {
        f"the word is shifted by {32 - bits}, which leaves {several(bits, 'bit')}; 24 "
        "must remain": lambda words, bits=bits: upper_bits(words, bits, 24)
        for bits in range(1, 32)
        if bits != 24
    },
    tolerance=0,
)


def by_running(i, threads, offset):
    """Run the loop of every thread until one of them comes to element i.

    Returns its place, (subsequence, counter, word), and the arguments.
    """
    return {
        "place": found_by_running(i, threads, offset),
        "arguments": (i, threads, offset),
    }


def found_by_running(i, threads, offset):
    """Return the thread, the counter and the word of element i."""
    for thread in range(threads):
        for counter, first in enumerate(range(thread, i + 1, 4 * threads)):
            for word in range(4):
                if first + word * threads == i:
                    return thread, offset // 4 + counter, word
    raise AssertionError("no thread writes this element")


def some_places(rng):
    """Return places, numbers of threads, and offsets.

    The second place has three numbers that differ: only an exchange gives them in
    another order.
    """
    cases = [(0, 8, 0), (53, 8, 0), (5, 8, 0), (21, 8, 0), (32, 8, 0)]
    cases += [(77, 8, 0), (3, 8, 76)]
    cases += [(70, 8, 8), (300, 256, 4), (1023, 256, 0), (1024, 256, 0)]
    for _ in range(10):
        threads = 32 * int(rng.integers(1, 9))
        offset = 4 * int(rng.integers(0, 1000))
        cases.append((int(rng.integers(0, 12 * threads)), threads, offset))
    return cases


def in_fours(i, threads, offset):
    """Return the place of element i if the numbers of a counter are neighbours."""
    rounds, rest = divmod(i, 4 * threads)
    return rest // 4, offset // 4 + rounds, rest % 4


def of_the_offset(counter, right, offset):
    """Say which mistake with the offset gives a counter, or ""."""
    parts = {right - offset // 4: "is left out"}
    parts[right - offset // 4 + offset] = "is added as it is"
    if offset == 0 or counter not in parts:
        return ""
    return (
        f"The counter is {counter}. This is the result if the offset, {offset}, "
        f"{parts[counter]}. The offset counts numbers: how many of them does a counter "
        "make?"
    )


def same_place(got, answer):
    """Return "" for the right place, or else which part of it is wrong."""
    wanted, arguments = answer["place"], answer["arguments"]
    if not isinstance(got, tuple | list) or len(got) != 3:
        return "Return a tuple of three: subsequence, counter, word."
    if any(isinstance(part, float) for part in got):
        return "All three are integers: divide with `//`."
    if tuple(got) == tuple(wanted):
        return ""
    if len(set(wanted)) == 3 and sorted(map(str, got)) == sorted(map(str, wanted)):
        return (
            f"{got[0]}, {got[1]} and {got[2]} are the right numbers, in another order. "
            "Return (subsequence, counter, word)."
        )
    if tuple(got) == in_fours(*arguments):
        threads = arguments[1]
        return (
            "This is cuRAND's order, in which the four numbers of a counter are "
            "neighbours. Here, they go to elements that are `threads` apart: this "
            f"thread's word 0 is {threads} elements before its word 1."
        )
    reasons = {
        "subsequence": "a thread has one subsequence, its own number. Which "
        "thread writes this element?",
        "counter": "a thread makes four numbers per counter, so the counter "
        "moves on every 4 × threads elements. The offset counts numbers.",
        "word": "the four numbers of a counter go to places `threads` apart.",
    }
    for name, part, aim in zip(reasons, got, wanted, strict=True):
        if part != aim:
            if name == "word" and part not in range(4):
                return (
                    f"The word is {part}, but a counter has only words 0 to 3. After "
                    "word 3, a thread goes on with word 0 of its next counter."
                )
            if name == "counter" and (why := of_the_offset(part, aim, arguments[2])):
                return why
            return f"The {name} is {part}, but {reasons[name]}"
    return ""


@dataclass
class Generator:
    """How far a sequence of counters has been used: its key, and their number."""

    seed: int
    offset: int = 0


def thinned(x, p, seed, first):
    """Set a share p of x to 0, and scale the rest by 1 / (1 - p)."""
    same_counters(first)
    counters = first + np.arange(-(-x.numel() // 4))
    bits = words(seed, 0, counters[:, None], np.arange(4)).ravel()[: x.numel()]
    stays = torch.from_numpy(bits >= p * 2**32).to(x.device).view(x.shape)
    return torch.where(stays, x / (1 - p), torch.zeros_like(x))


SHARE = 0.25
SCALED_TWICE = (
    "This is the result if the gradient is multiplied by 1 / (1 - p) twice. What has "
    "`thinned` done to it already?"
)
NOT_SCALED = (
    "This is the result if the gradient is not multiplied by 1 / (1 - p). What does "
    "the forward pass do to the elements that stay?"
)
AS_IT_IS = (
    "This is the result if the gradient is returned as it is. What does the forward "
    "pass do to each element?"
)
USED = "counters of the forward pass"


def same_counters(first):
    """Refuse a mask in a backward pass that begins with a counter of another mask."""
    current = getattr(torch._C, "_current_autograd_node", lambda: None)
    node = current()  # None, except in a backward pass
    used = node.metadata.get(USED) if node is not None else None
    if used and first not in used:
        raise ValueError(
            f"in the forward pass, this layer's mask began at counter {used[0]}, and "
            f"in the backward pass at counter {first}: both need the same mask"
        )


def same_twice(x, seed, first):
    """Two layers of dropout in a row; the second continues after the first."""
    between = first + -(-torch.numel(x) // 4)
    once = thinned(x, SHARE, seed, first)
    return thinned(once, SHARE, seed, between)


def other_counters(x, seed, first, result):
    """Return at which counter the mask began, if not at the generator's offset."""
    x, result = torch.as_tensor(x), torch.as_tensor(result)
    if result.shape != x.shape or x.numel() < 8:  # few elements may fit by chance
        return ""
    x, result = x.detach().double(), result.detach().double()
    needed = -(-x.numel() // 4)
    fits = [
        start
        for start in {0, first + 1, first + needed} - {first}
        if torch.allclose(result, same_twice(x, seed, start))
    ]
    if len(fits) != 1 or torch.allclose(result, same_twice(x, seed, first)):
        return ""
    return (
        f"The first layer has the mask that begins at counter {fits[0]}; when the call "
        f"began, the generator's offset was {first}."
    )


def two_layers(dropout, x, seed, first):
    """Apply two layers of dropout with one generator, and look after it."""
    generator = Generator(seed, first)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor
    ):
        once = dropout.apply(x, SHARE, generator)
    moved_on(dropout, x.numel(), generator.offset - first)
    nothing_kept(dropout, x, saved, once.grad_fn)
    middle = generator.offset
    twice = dropout.apply(once, SHARE, generator)
    for which, result, begin in (("first", once, first), ("second", twice, middle)):
        if node := result.grad_fn:
            node.metadata[USED] = range(begin, begin + middle - first)
            node.register_hook(gradient_of(dropout, which, seed, begin))
    return twice


def refused(dropout, headline, message, why, pattern):
    """Return the error that ends a check, at the line of `forward` with a pattern."""
    places = line_with(dropout.forward, pattern) or returns(dropout.forward)
    return Failed(
        Verdict(dropout.__name__, "exception", message, why, places, headline=headline)
    )


def moved_on(dropout, size, used):
    """Refuse an offset that has not moved on by the counters of `size` elements."""
    needed = -(-size // 4)
    if used == needed:
        return
    less = "would use some of them again"
    more = "would skip counters that no layer has used"
    why = {
        0: "It is as it was before the call. Which line should set it?",
        size // 4: (
            f"This is the result if {size} / 4 is rounded down. Which counter do the "
            "last elements use?"
        ),
        size: (
            "This is the result if the offset counts numbers. How many numbers does "
            "a counter make?"
        ),
    }
    raise refused(
        dropout,
        "the offset is wrong",
        f"{size} elements use {several(needed, 'counter')}, and the offset has moved "
        f"on by {used}: the next layer {less if used < needed else more}.",
        why.get(used, ""),
        r".*\.offset\s*\+?=[^=]",
    )


def nothing_kept(dropout, x, saved, node):
    """Refuse tensors and arrays that a layer keeps for its backward pass."""
    kept = [("save_for_backward", tensor) for tensor in saved]
    held = list(vars(node).items()) if node else []
    for name, value in held:
        if isinstance(value, tuple | list):
            held += [(name, part) for part in value]
        if isinstance(value, torch.Tensor | np.ndarray):
            kept.append((name, value))
    if kept:
        raise refused(
            dropout,
            "it keeps an array",
            f"{sum(array.nbytes for _, array in kept)} bytes of arrays are kept for "
            f"the backward pass, and x has {x.nbytes}.",
            "The mask can be made again. Which numbers does that take?",
            rf".*ctx\.{kept[0][0]}\b",
        )


def gradient_of(dropout, which, seed, first):
    """Return a hook that refuses a gradient with a known mistake in a layer."""

    def look(to_inputs, of_results):
        got, given = to_inputs[0], of_results[0]
        if got is None or given is None or got.shape != given.shape:
            return
        right = thinned(given, SHARE, seed, first)
        times = "{:.4g} times what it should be".format
        made = (
            (right / (1 - SHARE), times(1 / (1 - SHARE)), SCALED_TWICE),
            (right * (1 - SHARE), times(1 - SHARE), NOT_SCALED),
            (given, "the gradient of the layer's result", AS_IT_IS),
        )
        fits = [said for one, *said in made if torch.allclose(got, one, rtol=1e-4)]
        if len(fits) == 1 and right.any():
            ((what, why),) = fits
            message = (
                f"The check applies two layers in a row. In the {which}, the gradient "
                f"of x is {what}."
            )
            said = "gradient", message, why, returns(dropout.backward)
            when = f"size {got.numel()}"
            raise Failed(Verdict(dropout.__name__, *said, when=when))

    return look


def recording(rng, n, channels, more):
    """Return samples, in an array with more channels, and room for spectra."""
    wide = torch.from_numpy(rng.normal(0, 1, (n, channels + more)))
    room = torch.full((channels, n // 2 + 1), torch.nan, dtype=torch.complex64)
    return wide.float()[:, :channels], room


def by_numpy(x, out):
    """Return the spectra of the columns of x, one per row."""
    return np.fft.rfft(x, axis=0).T


def how_wide(x, room, out):
    """Return which elements a plan has read or stored, if that explains its results.

    Otherwise return how wide the array is that x is a part of, if it is a part.
    """
    mine, width = x.shape[1], x.stride(0)
    for reason in (read_elsewhere, stored_elsewhere, of_another_size):
        if why := reason(x, room, out):
            return why
    if width == mine:
        return ""
    return f"x is {mine} of the {width} channels of an array."


def likely_layouts(n, channels, width):
    """Return strides and distances that a plan may have: those of x, out and others."""
    numbers = dict.fromkeys((1, n, channels, width, n // 2 + 1))
    return [(stride, dist) for stride in numbers for dist in numbers]


def places(stride, dist, count, batch):
    """Return the places (batch, count) that a plan reads or stores."""
    return np.arange(batch)[:, None] * dist + np.arange(count) * stride


def read_elsewhere(x, room, out):
    """Return which elements of x a plan has read, if these are their spectra."""
    (n, channels), width = x.shape, x.stride(0)
    whole = x.as_strided((n * width,), (1,)).numpy()
    found = []
    for stride, dist in likely_layouts(n, channels, width):
        at = places(stride, dist, n, channels)
        if at.max() >= whole.size or np.array_equal(at, places(width, 1, n, channels)):
            continue
        if np.allclose(np.fft.rfft(whole[at]), out, rtol=1e-3, atol=1e-3):
            found.append((stride, dist))
    if len(found) != 1:
        return ""
    ((stride, dist),) = found
    why = (
        f"The plan has read element j of transform b at b × {dist} + j × {stride}. "
        f"In x, sample j of channel b is at b × 1 + j × {width}"
    )
    if (stride, dist) == (1, width):
        return f"{why}: the stride and the distance are exchanged."
    if (stride, dist) == (1, n):
        why += (
            ". A plan reads rows without gaps like this if it has no strides, or None "
            "for `inembed` and `onembed`"
        )
    return f"{why}."


def stored_elsewhere(x, room, out):
    """Return where a plan has stored its results, if they are right."""
    (n, channels), (_, count) = x.shape, out.shape
    spectra = by_numpy(x.numpy(), room)
    for stride, dist in likely_layouts(n, channels, x.stride(0)):
        at = places(stride, dist, count, channels)
        if at.max() >= out.size or np.unique(at).size < at.size:
            continue
        made = np.full(out.size, np.nan, complex)
        made[at] = spectra
        if np.allclose(made, out.ravel(), rtol=1e-3, atol=1e-3, equal_nan=True):
            return (
                "The results are right, and the plan has stored result j of transform "
                f"b at b × {dist} + j × {stride}. In out, it belongs at b × {count} + "
                "j × 1."
            )
    return ""


def of_another_size(x, room, out):
    """Return how many samples a plan has transformed, if these are their spectra."""
    (n, channels), (_, count) = x.shape, out.shape
    found = set()
    for size in range(1, n):
        spectra = by_numpy(x[:size].numpy(), room)
        stored = spectra.shape[1]
        for dist in {count, stored}:
            made = np.full(out.size, np.nan, complex)
            made[places(1, dist, stored, channels)] = spectra
            if np.allclose(made, out.ravel(), 1e-3, 1e-3, equal_nan=True):
                found.add(size)
    if len(found) != 1:
        return ""
    return (
        f"This is the result if the plan transforms {several(found.pop(), 'sample')} "
        f"of each channel, and x has {n}. Which argument of `make_plan_many` is the "
        "size of a transform?"
    )


def signals(rng, batch, n, k):
    """Return signals, a filter, and room for the results."""
    x, w = rng.normal(0, 1, (batch, n)), rng.normal(0, 1, (1, k))
    room = torch.full((batch, n + k - 1), torch.nan)
    return x.astype(np.float32), w.astype(np.float32), room


def by_definition(x, w, out):
    """Return the full convolution of each row with the filter."""
    return np.stack([np.convolve(row, w[0]) for row in x])


def wrong_factor(x, w, room, out):
    """Return which sizes make the factor of the results, if that is all."""
    full = by_definition(x, w, room)
    ratio = float((out * full).sum() / (full * full).sum())
    if not np.allclose(out, ratio * full, atol=1e-3) or abs(ratio - 1) < 1e-3:
        return ""
    n, k, length = x.shape[1], w.shape[1], full.shape[1]
    sizes = {length, good_size(length)}
    batch = len(x)
    fits = set()
    for size in sizes:
        divided = {1: "nothing has divided by it", n: "", k: "", length: ""}
        divided |= {size // 2 + 1: "", size * size: "", size * batch: ""}
        divided.pop(size, None)
        for by in divided:
            if abs(ratio * by / size - 1) < 1e-4:
                fits.add((size, by))
    if len(fits) != 1:
        return ""
    ((size, by),) = fits
    said = f"A transform of size {size} and its inverse multiply by {size}"
    if by == 1:
        many = f"Every element is {size} times what it should be."
        return f"{many} {said}, and nothing has divided by it."
    meant = {n: ", the size of a signal", k: ", the size of the filter"}.get(by, "")
    return (
        f"Every element is {ratio:.4g} = {size} / {by} times what it should be. "
        f"{said}, and here the factor has divided by {by}{meant}."
    )


def spectra_too_wide(x, w, room, out):
    """Return how wide the arrays of the spectra are, if the plan's rows are shorter."""
    batch, length = len(x), room.shape[1]
    if batch == 1:
        return ""
    found = []
    for size in {length, good_size(length), 1 << (length - 1).bit_length()}:
        stored = size // 2 + 1
        for width in range(stored + 1, size + 1):
            spectra, response = (
                np.zeros(batch * width, complex),
                np.zeros(width, complex),
            )
            spectra[: batch * stored] = np.fft.rfft(x, size).ravel()
            response[:stored] = np.fft.rfft(w[0], size)
            products = (spectra.reshape(batch, width) * response).ravel()
            rows = products[: batch * stored].reshape(batch, stored)
            if np.allclose(np.fft.irfft(rows, size)[:, :length], out, atol=1e-3):
                found.append((size, width))
    if len(found) != 1:
        return ""
    ((size, width),) = found
    return (
        f"This is the result if the arrays of the spectra have {width} columns: row 0 "
        f"is right, and the others are not. How many complex results does a real "
        f"transform of size {size} have, and how far apart does the plan store its "
        "rows?"
    )


def wraps_around(x, w, room, out):
    """Return which transform is too short, if that is what has gone wrong."""
    full = by_definition(x, w, room)
    for size in range(max(x.shape[1], w.shape[1]), full.shape[1]):
        circular = full[:, :size].copy()
        circular[:, : full.shape[1] - size] += full[:, size:]
        if np.allclose(out[:, :size], circular, atol=1e-3):
            return (
                f"This is a circular convolution of size {size}: the last "
                f"{full.shape[1] - size} results are added to the first."
            )
    return wrong_factor(x, w, room, out) or spectra_too_wide(x, w, room, out)

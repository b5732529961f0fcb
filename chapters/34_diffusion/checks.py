"""Inputs and specifications for the checks of lab 34."""

import copy
import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F

from weft.checking.compare import difference
from weft.checking.slips import result_if
from weft.wording import joined

from .kernels import EPS
from .model import BF16, DEVICE, UNet, embed

ALIKE = "This is the result "
PEAKS = 4e12, 800e12, 1.3e-6  # bytes/s, FLOP/s in bfloat16, seconds per kernel
GROUPS = 2  # in the check; the model has 32
PIXELS, UNITS = 4, 3  # in the check: pixels of a block, units of an image

torch.manual_seed(34)
tiny = UNet(widths=(16, 32), text=24, head=8, groups=4).requires_grad_(False)
near_tiny = copy.deepcopy(tiny).to(DEVICE)


def short(value):
    """Return a number rounded to three digits."""
    return float(f"{value:.3g}")


def profiles(rng):
    """Return steps as a profiler would describe them, and the GPU's limits."""
    made = []
    for count in (4, 1, 9):
        calls = rng.integers(1, 30, count).tolist()
        moved = 10 ** rng.uniform(4, 8, count)
        computed = moved * 10 ** rng.uniform(0, 3, count)
        least = np.maximum(moved / PEAKS[0], computed / PEAKS[1])
        seconds = calls * np.maximum(least, PEAKS[2]) * rng.uniform(0.8, 4, count)
        columns = (map(short, each) for each in (seconds, moved, computed))
        made.append(list(zip(calls, *columns, strict=True)))
    # longest first, and each of the three limits decides somewhere
    made += [
        [
            (2, 900e-6, 4e8, 3.3e11),
            (20, 300e-6, 1e7, 1e8),
            (9, 200e-6, 2e5, 1e6),
        ],
        [
            (40, 500e-6, 3e7, 6e9),
            (300, 480e-6, 1e3, 1e3),
            (10, 450e-6, 2e7, 1e10),
        ],
        [(7, 700e-6, 3e8, 1e9), (3, 300e-6, 4e7, 7e10), (5, 90e-6, 5e6, 1e9)],
        [(90, 110e-6, 1e3, 1e3), (4, 95e-6, 1e7, 1e10)],
        [(6, 40e-6, 4e7, 1e9)],  # from the cache
    ]
    return [(profile, *PEAKS) for profile in made]


def worth_spec(profile, bandwidth, rate, floor):
    """Return the row with the most to gain, and the step's speed-up from it."""
    calls, seconds, moved, computed = np.array(profile).T
    least = calls * np.maximum(np.maximum(moved / bandwidth, computed / rate), floor)
    gain = np.clip(seconds - least, 0, None)
    return int(gain.argmax()), seconds.sum() / (seconds.sum() - gain.max())


def either(found):
    """Join sentences that begin with `ALIKE`, if they are one or two."""
    if len(found) == 2:
        return f"{found[0].removesuffix('.')}, or {found[1].removeprefix(ALIKE)}"
    return found[0] if len(found) == 1 else ""


def wrong_worth(profile, bandwidth, rate, floor, answer):
    """Say with which slip this row and this factor come out, if just one is known."""
    seconds = [row[1] for row in profile]
    rows = [(c, m / bandwidth, a / rate) for c, _, m, a in profile]
    least = [c * max(m, a, floor) for c, m, a in rows]
    limits = {
        "an empty kernel takes no time": [c * max(m, a) for c, m, a in rows],
        "the floor is added to the limit": [
            c * (max(m, a) + floor) for c, m, a in rows
        ],
        "the floor counts once for all calls": [
            max(c * max(m, a), floor) for c, m, a in rows
        ],
        "the limit is that of one call": [max(m, a, floor) for _, m, a in rows],
        "the times of bytes and FLOPs are added up": [
            c * max(m + a, floor) for c, m, a in rows
        ],
        "all three times of a call are added up, and not the longest taken": [
            c * (m + a + floor) for c, m, a in rows
        ],
        "the shortest of the three times is taken, and not the longest": [
            c * min(m, a, floor) for c, m, a in rows
        ],
        "the time of the FLOPs is left out": [c * max(m, floor) for c, m, a in rows],
        "the time of the bytes is left out": [c * max(a, floor) for c, m, a in rows],
        "the limit is the floor alone": [c * floor for c, m, a in rows],
    }

    def gains(limit, lowest=0.0):
        return [max(s - t, lowest) for s, t in zip(seconds, limit, strict=True)]

    def best(values):
        return max(range(len(values)), key=lambda k: values[k])

    def step(k, gain):
        return k, sum(seconds) / (sum(seconds) - gain[k])

    own, signed = gains(least), gains(least, -float("inf"))
    k = best(own)
    furthest = best([s / t for s, t in zip(seconds, least, strict=True)])
    found = {reason: step(best(gains(t)), gains(t)) for reason, t in limits.items()}
    found["a row below its limit has a negative gain"] = step(best(signed), signed)
    found["the longest row is taken"] = step(best(seconds), own)
    found["the row is taken that is the most times its limit"] = step(furthest, own)
    whole = sum(seconds)
    factors = {
        "all rows are brought to their limits": (whole, whole - sum(own)),
        "the factor is that of the row alone": (seconds[k], seconds[k] - own[k]),
        "the row takes no time at all any more": (whole, whole - seconds[k]),
    }
    for reason, (before, after) in factors.items():
        found[reason] = k, before / after if after else float("inf")
    fitting = [
        reason
        for reason, (row, factor) in found.items()
        if answer[0] == row and math.isclose(answer[1], factor, rel_tol=1e-6)
    ]
    return either([f"{ALIKE}if {reason}." for reason in fitting])


def toy_model(x, t, text):
    """Return something that depends on each sample, its time and its text."""
    if not len(x) == len(t) == len(text):
        found = f"{len(x)} samples, {len(t)} times and {len(text)} texts"
        raise ValueError(f"the model got {found}")
    words = torch.tanh(text).mean((1, 2)) + text[:, 0, 0]
    return torch.sin(x * (1 + words + 0.1 * t).view(-1, 1, 1, 1)) + 0.3 * x


class Once:
    """A model that can be called once."""

    def __init__(self, model):
        self.model, self.called = model, False

    def __call__(self, x, t, text):
        if self.called:
            raise RuntimeError("the model is called a second time in this step")
        self.called = True
        return self.model(x, t, text)


def in_two_calls(x, t, text, empty, scale):
    """Guide with one call for the empty text and one for the text."""
    nothing = toy_model(x, t, torch.stack([empty] * len(x)))
    return nothing + scale * (toy_model(x, t, text) - nothing)


def guided_by(
    mix=lambda nothing, something, scale: nothing + scale * (something - nothing),
    empty=1,
):
    """Return guidance in one call, with another last step, or another empty text."""

    def spec(x, t, text, none, scale):
        x, t, text, none = (torch.from_numpy(v) for v in (x, t, text, none))
        texts = torch.cat([empty * none.expand_as(text), text])
        both = toy_model(torch.cat([x, x]), torch.cat([t, t]), texts)
        return mix(*both.chunk(2), scale)

    return spec


IN_ITS_PLACE = result_if(
    {
        "it begins at the prediction with the text": guided_by(
            lambda nothing, something, scale: something + scale * (something - nothing)
        ),
        "the two halves are exchanged": guided_by(
            lambda nothing, something, scale: something + scale * (nothing - something)
        ),
        "the difference has the wrong sign": guided_by(
            lambda nothing, something, scale: nothing + scale * (nothing - something)
        ),
        "only the difference is returned": guided_by(
            lambda nothing, something, scale: scale * (something - nothing)
        ),
        "the empty text is zeros": guided_by(empty=0),
    }
)


def in_turn(values, alternate):
    """Join two batches: the samples of both in turn, or one batch after the other."""
    first, second = values
    if alternate:
        return torch.stack([first, second], 1).flatten(0, 1)
    return torch.cat([first, second])


def mixed_up(x, t, text, empty, scale, got):
    """Say which inputs of the model are not in the order of the others, if any are.

    Tries all orders of latents, times, texts and results, with either text first.
    """
    x, t, text, empty = (torch.from_numpy(v) for v in (x, t, text, empty))
    own = torch.arange(len(x))
    nothing = empty.expand_as(text)
    for text_first in (False, True):
        texts = (text, nothing) if text_first else (nothing, text)
        for orders in itertools.product((False, True), repeat=4):
            latents, times, words, results = orders
            given = in_turn((x, x), latents), in_turn((t, t), times)
            both = toy_model(*given, in_turn(texts, words))
            halves = (both[::2], both[1::2]) if results else both.chunk(2)
            without, something = reversed(halves) if text_first else halves
            made = (without + scale * (something - without)).numpy()
            if len(set(orders)) < 2 or not np.allclose(made, got, 1e-3, 1e-3):
                continue
            which = [in_turn((own, own), order).tolist() for order in orders[:3]]
            blank = (own, own - len(x)) if text_first else (own - len(x), own)
            which[2] = in_turn(blank, words).tolist()
            return said_of_orders(orders, *which)
    return ""


def said_of_orders(orders, latents, times, texts):
    """Say which orders differ, and a call of the model with two samples' inputs.

    latents, times, texts: whose they are; the empty text's is below 0.
    """
    names = "latents", "times", "texts", "results"
    pairs = list(zip(names, orders, strict=True))
    turn = joined([name for name, alternate in pairs if alternate])
    halves = joined([name for name, alternate in pairs if not alternate])
    said = (
        f"This is the result if the {turn} of one sample follow each other, and the "
        f"{halves} come in halves."
    )
    for latent, time, words in zip(latents, times, texts, strict=True):
        if 0 <= words != latent:
            return f"{said} The model gets latent {latent} with text {words}."
        if time != latent:
            return f"{said} The model gets latent {latent} with time {time}."
    return said


def GUIDED(*values):
    """Say why a prediction is not the guided one, if that is known."""
    return IN_ITS_PLACE(*values) or mixed_up(*values)


def guidance_inputs(rng, n, tokens):
    """Return latents, times, texts, the empty text and a scale."""
    x = rng.standard_normal((n, 4, 3, 2)).astype(np.float32)
    t = rng.uniform(0, 9, n).astype(np.float32)
    text = rng.standard_normal((n, tokens, 6)).astype(np.float32)
    return x, t, text, rng.uniform(-2, 0, (tokens, 6)).astype(np.float32), 3.5


def shifts_by(
    vector=F.silu, bias=lambda block: block.conv1.bias, after=lambda x: x, count=False
):
    """Return a slip of `constants` in the tables: of another vector, or bias."""

    def spec(times, text):
        t = torch.from_numpy(times).float()
        t = torch.arange(len(t)) if count else t
        vectors = vector(tiny.time(embed(t, tiny.widths[0])))
        tables = [after(block.time(vectors)) + bias(block) for block in tiny.res]
        return *tables, *step_by_step(t.float(), torch.from_numpy(text))[len(tables) :]

    return spec


def values_first(times, text):
    """Return the constants, with each pair in the other order."""
    found = step_by_step(torch.from_numpy(times), torch.from_numpy(text))
    tables, pairs = found[: len(tiny.res)], found[len(tiny.res) :]
    both = zip(pairs[1::2], pairs[::2], strict=True)
    return *tables, *(part for pair in both for part in pair)


def not_exchanged(times, text):
    """Return the constants, keys and values reshaped without exchanging two axes."""
    found = step_by_step(torch.from_numpy(times), torch.from_numpy(text))
    tables, pairs = found[: len(tiny.res)], found[len(tiny.res) :]
    whole = (pair.transpose(1, 2).reshape(pair.shape) for pair in pairs)
    return *tables, *whole


OF_STEPS = result_if(
    {
        "values come before keys": values_first,
        "the axes of heads and tokens are reshaped, and not exchanged": not_exchanged,
        "the bias of `conv1` is left out": shifts_by(bias=lambda block: 0),
        "the bias is that of `conv2`": shifts_by(bias=lambda block: block.conv2.bias),
        "SiLU is left out": shifts_by(lambda x: x),
        "SiLU comes after the layer": shifts_by(lambda x: x, after=F.silu),
        "the steps' numbers are embedded, not their times": shifts_by(count=True),
    }
)


def step_by_step(times, text):
    """Compute shifts, keys and values as the steps themselves do."""
    times, text = times.float(), text.float()
    tables = [[] for _ in tiny.res]
    for t in times:
        vector = tiny.time(embed(t[None], tiny.widths[0]))
        for block, table in zip(tiny.res, tables, strict=True):
            pixel = torch.zeros(1, block.conv1.in_channels, 1, 1)
            table.append(block.conv1(pixel)[0, :, 0, 0])
            table[-1] = table[-1] + block.time(F.silu(vector))[0]
    pairs = []
    for each in (att.cross for att in tiny.att):
        pairs += [each.heads(each.k(text)), each.heads(each.v(text))]
    return *map(torch.stack, tables), *pairs


def CONSTANTS(times, text, *got):
    """Say which of the results is wrong first, and why, if that is known."""
    exact = step_by_step(torch.from_numpy(times), torch.from_numpy(text))
    for number, (mine, right) in enumerate(zip(got, exact, strict=True)):
        if mine.shape != tuple(right.shape):
            break
        if wrong := difference(mine, right.numpy(), 1e-4):
            pair, part = divmod(number - len(tiny.res), 2)
            what = (
                f"the table of `net.res[{number}]`"
                if pair < 0
                else f"the {('keys', 'values')[part]} of `net.att[{pair}]`"
            )
            why = OF_STEPS(times, text, *got) or wrong.hint
            return f"Result {number + 1} is {what}. {why}".strip()
    return ""


def listed(tables, pairs):
    """Return tables and pairs as one list."""
    return [*tables, *(part for pair in pairs for part in pair)]


def times_and_text(rng, steps, n):
    """Return the times of the steps, and n texts."""
    times = np.sort(rng.uniform(0, 999, steps)).astype(np.float32)[::-1].copy()
    return times, rng.standard_normal((n, 5, 24)).astype(np.float32)


def to_words(x):
    """Round float32 to bfloat16, two to an int32: (..., c) -> (..., c / 2)."""
    pairs = torch.from_numpy(np.ascontiguousarray(x)).to(BF16)
    return pairs.view(torch.int32).numpy()


def to_floats(words):
    """Unpack: (..., c / 2) int32 -> (..., c) float32."""
    return torch.from_numpy(words).view(BF16).float().numpy()


def normed(x, shift, gamma, beta):
    """Return silu(norm(x + shift)), the image as words."""
    z = torch.from_numpy(to_floats(x) + shift[:, None]).double().transpose(1, 2)
    weights = torch.from_numpy(gamma).double(), torch.from_numpy(beta).double()
    z = F.silu(F.group_norm(z, GROUPS, *weights, float(EPS)))
    return z.transpose(1, 2).float().numpy()


def normed_by(
    moved=None,
    stored=None,
    scale=1,
    weigh=None,
    after=F.silu,
    groups=GROUPS,
    eps=EPS,
    share=1,
):
    """Return the norm with something else.

    moved, stored: what is added before mean and variance are taken, and before the
    result is, from the shift. scale: the result's, before gamma. weigh: gamma and beta,
    from each. groups: how many there are. share: channels per element counted.
    """

    def spec(x, shift, gamma, beta):
        image = torch.from_numpy(to_floats(x)).double()
        own = torch.from_numpy(shift).double()[:, None]
        z = image + (own if moved is None else moved(own))
        n, pixels, _ = z.shape
        parts = z.reshape(n, pixels, groups, -1)
        mean = parts.mean((1, 3), keepdim=True)
        spread = parts.var((1, 3), correction=0, keepdim=True)
        spread, mean = share * (spread + ((1 - share) * mean) ** 2), share * mean
        w = image + (own if stored is None else stored(own))
        w = w.reshape(parts.shape)
        root = torch.sqrt(spread + eps) if scale == 1 else scale(spread)
        w = ((w - mean) / root).reshape(z.shape)
        gamma, beta = (torch.from_numpy(v).double() for v in (gamma, beta))
        if weigh is not None:
            gamma, beta = weigh(gamma), weigh(beta)
        return (
            after(w, gamma, beta) if after is not F.silu else F.silu(w * gamma + beta)
        )

    return spec


def at_word(v):
    """Return what is read at the number of the word, for both of its channels."""
    return v[..., torch.arange(v.shape[-1]) // 2]


def from_word(v):
    """Return what is read at the number of the word, and at the next number."""
    c = torch.arange(v.shape[-1])
    return v[..., c // 2 + c % 2]


def in_group(v):
    """Return what is read at the number that a channel has in its group."""
    return v[..., torch.arange(v.shape[-1]) % (v.shape[-1] // GROUPS)]


def misread():
    """Return slips in which shift, gamma or beta is that of another channel."""
    found = {}
    for where, ways in {
        "the word's number": (from_word, at_word),
        "the channel's number in its group": (in_group,),
    }.items():
        for way in ways:
            moved, stored, weigh = {"moved": way}, {"stored": way}, {"weigh": way}
            for what, parts in {
                f"gamma and beta are read at {where}": weigh,
                f"the shift is read at {where}": moved | stored,
                f"the shift is read at {where} where sums are taken": moved,
                f"the shift is read at {where} where the result is stored": stored,
                f"shift, gamma and beta are read at {where}": moved | stored | weigh,
                f"shift, gamma and beta are read at {where} where the result is "
                "stored": stored | weigh,
            }.items():
                both = " (and at the next)" if way is from_word else ""
                said = what.replace(where, f"{where}{both}")
                found[f"{said}, and not at the channel's"] = normed_by(**parts)
    return found


READ = [result_if({what: slip}, tolerance=2e-4) for what, slip in misread().items()]


def NORMS(*values):
    """Say with which slip a norm comes out, if that is known."""
    found = IN_ORDER(*values) or [said for each in READ if (said := each(*values))]
    return found if isinstance(found, str) else either(found)


IN_ORDER = result_if(
    {
        "the shift is forgotten where the result is stored": normed_by(
            stored=lambda shift: 0 * shift
        ),
        "mean and variance are taken before the shift": normed_by(
            moved=lambda shift: 0 * shift
        ),
        "the shift is left out, or the same for both channels of a word": normed_by(
            moved=lambda shift: 0 * shift, stored=lambda shift: 0 * shift
        ),
        "all channels of a pixel are one group": normed_by(groups=1),
        "the sums are divided by the number of words": normed_by(share=2),
        "EPS is left out": normed_by(eps=0),
        "EPS is added to the root": normed_by(scale=lambda v: torch.sqrt(v) + EPS),
        "SiLU is left out": normed_by(after=lambda w, gamma, beta: w * gamma + beta),
        "SiLU comes before gamma and beta": normed_by(
            after=lambda w, gamma, beta: F.silu(w) * gamma + beta
        ),
    },
    tolerance=2e-4,
)


def norm_inputs(rng, n, pixels, width):
    """Return an image, shifts, and the norm's parameters."""
    channels = 2 * width * GROUPS
    far = rng.uniform(-3, 6, (n, 1, channels))
    spread = rng.uniform(0.2, 2, channels)
    x = rng.normal(far, spread, (n, pixels, channels)).astype(np.float32)
    shift = rng.normal(1, 2, (n, channels)).astype(np.float32)
    quiet = slice(channels // 2, None)  # a group with hardly any variance
    # many float32 summands near a mean cost digits: no group is so quiet then
    width = 3e-3 if pixels < 100 else 1
    x[..., quiet] = rng.normal(0, width, x[..., quiet].shape)
    shift[:, quiet] = shift[:, -1:]
    gamma = rng.uniform(0.5, 2, channels).astype(np.float32)
    beta = rng.normal(0.5, 1, channels).astype(np.float32)
    return to_words(x), shift, gamma, beta


def two_images(rng, n, pixels, each):
    """Return two images and a shift; a unit has `each` words."""
    channels = 2 * each * UNITS
    x, y = rng.normal(0.5, 1, (2, n, pixels, channels)).astype(np.float32)
    shift = rng.normal(1, 2, channels).astype(np.float32)
    return to_words(x), to_words(y), shift


def added(x, y, shift):
    """Return x + y + shift, the images as words, and the sums of each block's units."""
    return added_by()(x, y, shift)


def added_by(
    stored=lambda x, y, shift: x + y + shift,
    summed=None,
    squared=lambda unit: (unit**2).sum((2, 4)),
    parts=None,
):
    """Return images added, with something else.

    stored, summed: what is stored, and what is summed; by default the same. squared:
    the second sum, from units (n, blocks, pixels, units, channels). parts: of these.
    """

    def spec(x, y, shift):
        given = to_floats(x), to_floats(y), shift
        out = stored(*given)
        z = (summed or stored)(*given).astype(np.float64)
        n, pixels, _ = z.shape
        units = z.reshape(n, pixels // PIXELS, PIXELS, UNITS, -1)
        units = parts(units) if parts else units
        sums = np.stack([units.sum((2, 4)), squared(units)], -1)
        return out.astype("f4"), sums.astype("f4")

    return spec


def apart(units):
    """Return units of as many words, but not of neighbouring ones."""
    words = units.reshape(*units.shape[:3], -1, UNITS, 2)
    return words.swapaxes(3, 4).reshape(units.shape)


ADDED = result_if(
    {
        "the sums are taken before the shift": added_by(
            summed=lambda x, y, shift: x + y
        ),
        "only y and the shift are summed": added_by(
            summed=lambda x, y, shift: y + shift
        ),
        "only x and the shift are summed": added_by(
            summed=lambda x, y, shift: x + shift
        ),
        "the shift is left out": added_by(lambda x, y, shift: x + y),
        "both channels of a word get the same shift": added_by(
            lambda x, y, shift: x + y + np.repeat(shift[::2], 2)
        ),
        "the shift is that of the word's number": added_by(
            lambda x, y, shift: x + y + np.repeat(shift[: len(shift) // 2], 2)
        ),
        "the second sum is the square of the first": added_by(
            squared=lambda unit: unit.sum((2, 4)) ** 2
        ),
        "the squares are those of a word's sum, not of each channel": added_by(
            squared=lambda unit: ((unit[..., ::2] + unit[..., 1::2]) ** 2).sum((2, 4))
        ),
        "a unit has the sums of its first word alone": added_by(
            parts=lambda unit: unit[..., :2]
        ),
        "only the pixels of threads with `threadIdx.y` = 0 are summed": added_by(
            parts=lambda unit: unit[:, :, :: 1 + len(unit) % 3]
        ),
        "several threads sum the same pixel": added_by(
            parts=lambda unit: np.repeat(
                unit, np.minimum(np.arange(PIXELS), len(unit) % 3) + 1, axis=2
            )
        ),
        "the words of a unit are `units` apart, and not neighbours": added_by(
            parts=apart
        ),
    },
    tolerance=1e-4,
)


def phases_by_trying(weight):
    """Read the phases off what the large convolution makes of single pixels."""
    out, channels = weight.shape[:2]
    merged = weight.new_zeros(2, 2, out, channels, 2, 2)
    for k in range(channels):
        for row in range(3):
            for col in range(3):
                image = weight.new_zeros(1, channels, 3, 3)
                image[0, k, row, col] = 1
                large = F.interpolate(image, scale_factor=2.0)
                middle = F.conv2d(large, weight, padding=1)[0, :, 2:4, 2:4]
                for a in range(2):
                    for b in range(2):
                        p, q = row - a, col - b
                        if p in (0, 1) and q in (0, 1):
                            merged[a, b, :, k, p, q] = middle[:, a, b]
    return merged


def merged(rows):
    """Return the phases, from (rows of weights) -> above and below, of both phases."""

    def spec(weight):
        weight = torch.as_tensor(weight)
        made = []
        for pair in rows(*weight.unbind(2)):
            for left, right in rows(*torch.stack(pair, 2).unbind(3)):
                made.append(torch.stack([left, right], 3))
        return torch.stack(made).unflatten(0, (2, 2))

    return spec


TAPS = result_if(
    {
        "weights that meet the same pixel are averaged": merged(
            lambda a, b, c: [(a, (b + c) / 2), ((a + b) / 2, c)]
        ),
        "the middle weights are left out": merged(lambda a, b, c: [(a, c), (a, c)]),
        "parts are cut out, and nothing is added": merged(
            lambda a, b, c: [(a, b), (b, c)]
        ),
        "all phases are like the first": merged(lambda a, b, c: [(a, b + c)] * 2),
    }
)


def PHASES(weight, got):
    """Say why weights of the phases are wrong, if that is known."""
    return TAPS(weight, got) or not_all_once(weight, got)


def not_all_once(weight, got):
    """Say in which phase a weight is not in exactly one tap, if in any."""
    whole = weight.sum((2, 3))
    rows = {f"row {k}": weight[:, :, k].sum(2) for k in range(3)}
    columns = {f"column {k}": weight[..., k].sum(2) for k in range(3)}
    for a, b in itertools.product(range(2), repeat=2):
        taps = got[a, b].sum((2, 3))
        wrong = np.argwhere(~np.isclose(taps, whole, 1e-3, 1e-3))
        if not wrong.size:
            continue
        k, c = wrong[0].tolist()
        said = (
            f"The taps of `merged[{a}, {b}, {k}, {c}]` add up to {taps[k, c]:.4g}, and "
            f"the nine weights to {whole[k, c]:.4g}: "
        )
        for name, part in (rows | columns).items():
            for often, sign in (("is in both taps", 1), ("is in no tap", -1)):
                if np.allclose(taps, whole + sign * part, 1e-4, 1e-4):
                    return f"{said}{name} of the weights {often}."
        return f"{said}in each phase, each weight belongs to exactly one tap."
    return ""

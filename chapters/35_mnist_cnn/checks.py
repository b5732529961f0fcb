"""Data, specifications and likely causes for the checks of lab 35."""

from itertools import product

import numpy as np
import torch
import torch.nn.functional as F

from weft.checking.compare import agrees
from weft.wording import joined

from .kernels import EPS, THREADS


def patches(x):
    """(n, h, w, c) -> (n, h, w, 3, 3, c), zeros outside."""
    h, w = x.shape[1:3]
    framed = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows = [
        np.stack([framed[:, p : p + h, q : q + w] for q in range(3)], axis=3)
        for p in range(3)
    ]
    return np.stack(rows, axis=3)


def convolution(x, w, b):
    """The layer, in NumPy."""
    return np.einsum("nijpqc,fpqc->nijf", patches(x), w) + b


def random_pixels(rng, n, h, w, c):
    """Return images; quarters, so that some pixels of a window are equal."""
    x = np.round(4 * rng.standard_normal((n, 2 * h, 2 * w, c))) / 4 - 0.75
    return x.astype(np.float32)


def largest(x):
    """Return the largest of each window or 0, and which pixel it was."""
    n, h, w, c = x.shape
    windows = x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 5, 2, 4)
    windows = windows.reshape(n, h // 2, w // 2, c, 4)
    best = windows.max(-1)
    won = np.where(best > 0, windows.argmax(-1), 4)
    return np.maximum(best, 0), won


PIXELS = "upper left", "upper right", "lower left", "lower right"


def odd_winners(x, y, won):
    """Say where `won` is wrong, if y is right: of which kind those windows are."""
    best, right = largest(x)
    off = won != right
    if not off.any() or not agrees(y, best, 1e-5):
        return ""
    should, found = right[off].astype(int), won[off].astype(int)
    if (should == 4).all():
        return "`won` is wrong only in windows in which no number is above 0."
    n, h, w, c = y.shape
    windows = x.reshape(n, h, 2, w, 2, c).transpose(0, 1, 3, 5, 2, 4)
    taken = windows.reshape(n, h, w, c, 4)[off][range(len(found)), found % 4]
    if (found < 4).all() and (should < 4).all() and (taken == best[off]).all():
        return (
            "`won` is wrong only in windows that have their largest number more than "
            "once. Which of these pixels should win?"
        )
    pairs = set(zip(should.tolist(), found.tolist(), strict=True))
    both = sorted(p for p in pairs if p[0] < p[1])
    if pairs != {*both, *(p[::-1] for p in both)}:
        return ""
    if len({k for p in both for k in p}) < 2 * len(both):
        return ""
    exchanged = joined(f"{a} and {b} are exchanged" for a, b in both)
    number = both[0][0] or both[0][1]
    return (
        f"Where `won` is wrong, {exchanged}. Pixel {number} of a window is the "
        f"{PIXELS[number % 4]} one."
    )


def random_gradient(rng, n, h, w, c, f):
    """Return images, and the gradient of a layer of them."""
    return (
        rng.standard_normal((n, h, w, c), np.float32),
        rng.standard_normal((n, h, w, f), np.float32),
    )


def slices_of(n):
    """Return into how many slices the check splits n images."""
    return -(-n // 2)


def weights_gradient(x, dy):
    """The gradient of the weights, in slices of every k-th image."""
    k = slices_of(len(x))
    parts = [
        np.einsum("nijpqc,nijf->fpqc", patches(x[s::k]), dy[s::k]) for s in range(k)
    ]
    return np.stack(parts)


def images_of(parts, x, dy):
    """Return how often each image counts in each slice; None if they do not explain it.

    A row of the result is a slice.
    """
    each = np.einsum("nijpqc,nijf->nfpqc", patches(np.float64(x)), np.float64(dy))
    each, found = each.reshape(len(x), -1).T, parts.reshape(len(parts), -1).T
    if not np.isfinite(found).all() or len(each) < 2 * len(x):
        return None
    times = np.round(np.linalg.lstsq(each, np.float64(found), rcond=None)[0])
    return times.T.astype(int) if agrees(found, each @ times, 1e-3) else None


def odd_slices(x, dy, parts):
    """Say which images a slice adds up, or which pixels, if they are wrong."""
    n, slices = len(x), len(parts)
    times = images_of(parts, x, dy)
    if times is None:
        return odd_shift(x, dy, parts) or odd_places(x, dy, parts)
    if times.min() < 0 or times.max() > 1:
        return ""
    should = np.arange(n) % slices == np.arange(slices)[:, None]
    wrong = np.flatnonzero((times != should).any(1))
    if not wrong.size:
        return ""
    k = int(wrong[0])
    found = listed_images(times[k])
    said = f"`parts[{k}]` has {found}, and should have {listed_images(should[k])}."
    steps = [
        step
        for step in range(1, n)
        if all((times[k, k::step] == 1).all() for k in range(slices))
        and times.sum() == sum(len(range(k, n, step)) for k in range(slices))
    ]
    if len(steps) == 1:
        step = f"From image to image, the step is {steps[0]}"
        return f"{said} {step}, and there are {slices} slices."
    last = (n - 1 - np.arange(slices)) // slices * slices + np.arange(slices)
    if np.array_equal(times, np.arange(n) == last[:, None]):
        return (
            f"Each slice has only its last image: {said} Is the sum set to 0 again for "
            f"every image?"
        )
    left = np.flatnonzero(times.sum(0) == 0)
    if left.size:
        one = left.size == 1
        images = f"Image {left[0]} is" if one else f"Images {joined(left)} are"
        said += f" {images} in no slice."
    return said


def odd_shift(x, dy, parts):
    """Say to which p and q the pixel (i, j) belongs, if not to 1 and 1."""
    x, dy = np.float64(x), np.float64(dy)
    right, fits = weights_gradient(x, dy), []
    framed = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for p, q in product(range(3), repeat=2):
        around = ((0, 0), (2 - p, p), (2 - q, q), (0, 0))  # (1, 1) leaves dy in place
        made = weights_gradient(framed, np.pad(dy, around))
        if is_clearly(parts, made, right):
            fits.append(f"({p}, {q})")
    if len(fits) != 1:
        return ""
    return (
        f"This is the result if dy[n, i, j, f] is multiplied by x[n, i, j, c] for "
        f"(p, q) = {fits[0]}. For which p and q should it be?"
    )


def odd_places(x, dy, parts):
    """Say from where x is read, if p or q is mirrored or both are exchanged."""
    right, fits = weights_gradient(np.float64(x), np.float64(dy)), []
    for exchanged, *mirrored in list(product((False, True), repeat=3))[1:]:
        made = right[:, :, :: -1 if mirrored[0] else 1, :: -1 if mirrored[1] else 1]
        made = made.swapaxes(2, 3) if exchanged else made
        if is_clearly(parts, made, right):
            fits.append((exchanged, mirrored))
    if len(fits) != 1:
        return ""
    exchanged, mirrored = fits[0]
    names = ("q", "p") if exchanged else ("p", "q")
    row, column = (
        f"{at} - {name} + 1" if turned else f"{at} + {name} - 1"
        for at, name, turned in zip("ij", names, mirrored, strict=True)
    )
    said = f"this is the result if x is read at row {row} and column {column}"
    if exchanged and not any(mirrored):
        said += ", or if the sum is stored in dw[f, q, p, c]"
    changed = ["p and q are exchanged"] if exchanged else []
    if any(mirrored):
        which = sorted(n for n, turned in zip(names, mirrored, strict=True) if turned)
        changed.append(f"{joined(which)} {verb(which)} mirrored")
    return f"{joined(changed)}: {said}."


def listed_images(times):
    """Name the images that are not 0 in `times`."""
    numbers = [str(k) for k in np.flatnonzero(times)]
    if not numbers:
        return "no image"
    return f"the sum over image{'s' * (len(numbers) > 1)} {joined(numbers)}"


def random_norm(rng, m, c):
    """Return x, its statistics, gamma and a gradient with a mean."""
    x = (2 + 3 * rng.standard_normal((m, c))).astype(np.float32)
    exact = x.astype(np.float64)  # NumPy's sum of float32 rows is not
    mean = exact.mean(0)
    scale = 1 / np.sqrt(exact.var(0) + EPS)
    gamma = rng.uniform(0.5, 2, c)
    dy = 0.5 + rng.standard_normal((m, c))
    return tuple(a.astype(np.float32) for a in (x, mean, scale, gamma, dy))


def norm_gradient(x, mean, scale, gamma, dy):
    """The gradients, by PyTorch's autograd in double precision."""
    x, gamma, dy = (torch.tensor(np.float64(a)) for a in (x, gamma, dy))
    x.requires_grad_()
    gamma.requires_grad_()
    beta = torch.zeros_like(gamma, requires_grad=True)
    y = F.batch_norm(x, None, None, gamma, beta, True, 0, EPS)
    y.backward(dy)
    found = x.grad, gamma.grad, beta.grad
    return tuple(each.float().numpy() for each in found)


def is_clearly(got, made, right):
    """Return whether `got` is what a mistake makes, which is far from right."""
    with np.errstate(all="ignore"):
        return agrees(got, made, 1e-3) and not agrees(made, right, 1e-2)


CALLERS = {1: "thread 0 alone calls it", 32: "only threads 0 to 31 call it"}
NOT_TOGETHER = (
    "what `block_sum` returns if {}: for the others, it adds what the sum before left "
    "in `cells`. All threads of the block have to call `block_sum` together, and each "
    "gets the sum. Is the call inside an `if`?"
)


def odd_sums(values, before):
    """Yield what may happen to a sum over rows, with the result.

    values: what is added. before: what the sum before this one adds.
    """
    total, thread = values.sum(0), np.arange(len(values)) % THREADS
    yield "only what thread 0 has added up", values[thread == 0].sum(0)
    for count, who in CALLERS.items():
        mine = values[thread < count].sum(0)
        yield NOT_TOGETHER.format(who), mine + before[thread >= count].sum(0)
    yield "divided by m", total / len(values)


def odd_dgamma(x, mean, scale, gamma, dy):
    """Yield what dgamma may be with a mistake, with the result."""
    centred = x - mean
    hat = centred * scale
    known = "`scale` is already 1 / sqrt(v + ε)."
    yield "the sum of dy · x, and not of dy · x̂", dy * x
    yield "the sum of dy · (x - μ), without `scale`", dy * centred
    yield f"what x̂ = (x - μ) / scale gives. {known}", dy * centred / scale
    yield f"what x̂ = (x - μ) · scale² gives. {known}", dy * hat * scale
    as_variance = np.sqrt(scale + EPS)
    yield f"what (x - μ) / sqrt(scale + ε) gives. {known}", dy * centred / as_variance
    yield "the sum of dy · x · scale: μ is not subtracted", dy * x * scale
    yield "the sum of dy · x̂ · γ: γ does not belong there", dy * hat * gamma


def odd_gradients(x, mean, scale, gamma, dy, dx, dgamma, dbeta):
    """Say what is wrong with the sums, which dx needs, or else with dx."""
    x, mean, scale, gamma, dy = (np.float64(a) for a in (x, mean, scale, gamma, dy))
    hat = (x - mean) * scale
    sums = {"dgamma": (dgamma, dy * hat, dy), "dbeta": (dbeta, dy, dy * hat)}
    totals = {name: values.sum(0) for name, (_, values, _) in sums.items()}
    if is_clearly(dgamma, totals["dbeta"], totals["dgamma"]) and is_clearly(
        dbeta, totals["dgamma"], totals["dbeta"]
    ):
        return "`dgamma` and `dbeta` are exchanged."
    right = norm_gradient(x, mean, scale, gamma, dy)[0]
    for name, (got, values, before) in sums.items():
        total = totals[name]
        if agrees(got, total, 1e-3) or not np.isfinite(got).all():
            continue
        made = list(odd_sums(values, before))
        if name == "dgamma":
            changed = odd_dgamma(x, mean, scale, gamma, dy)
            made += [(what, products.sum(0)) for what, products in changed]
        known = (what for what, made in made if is_clearly(got, made, total))
        what = next(known, f"{got[0]:.4g} for channel 0, and should be {total[0]:.4g}")
        if agrees(dx, right, 1e-3):
            return sentence(f"`{name}` is {what}")
        return sentence(f"`{name}`, which dx needs, is wrong, too: it is {what}")
    return odd_dx(hat, scale, gamma, dy, x, mean, dx, right)


def sentence(text):
    return text if text[-1] in ".?" else f"{text}."


def odd_dx(hat, scale, gamma, dy, x, mean, dx, right):
    """Say what is wrong with dx, if both sums are right."""
    m, by, centred = len(x), gamma * scale, x - mean
    b, g = dy.sum(0) / m, (dy * hat).sum(0) / m
    t = np.arange(m) % THREADS
    own_b, own_g = (np.stack([v[k::THREADS].sum(0) for k in t]) for v in (dy, dy * hat))
    made = {
        "`scale` is left out": gamma * (dy - b - hat * g),
        "`scale` is in the factor twice": by * scale * (dy - b - hat * g),
        "the factor is γ / scale; `scale` is already 1 / sqrt(v + ε)": (
            gamma / scale * (dy - b - hat * g)
        ),
        "the sums are not divided by m": by * (dy - m * b - hat * m * g),
        "dβ is not divided by m": by * (dy - m * b - hat * g),
        "dγ is not divided by m": by * (dy - b - hat * m * g),
        "dβ / m is not subtracted": by * (dy - hat * g),
        "x̂ · dγ / m is not subtracted": by * (dy - b),
        "both means are left out, as if μ and v did not depend on x": by * dy,
        "dγ / m is subtracted without its factor x̂": by * (dy - b - g),
        "the last term has x, and not x̂": by * (dy - b - x * g),
        "the last term has x - μ, and not x̂": by * (dy - b - centred * g),
        "the last term has (x - μ) / scale; `scale` is already 1 / sqrt(v + ε)": (
            by * (dy - b - centred / scale * g)
        ),
        "the means are added, and not subtracted": by * (dy + b + hat * g),
        "each thread uses its own part of dβ": by * (dy - own_b / m - hat * g),
        "each thread uses its own part of dγ": by * (dy - b - hat * own_g / m),
        "each thread uses its own parts of both sums": (
            by * (dy - own_b / m - hat * own_g / m)
        ),
    }
    fits = [what for what, each in made.items() if is_clearly(dx, each, right)]
    return f"This is the result if {fits[0]}." if len(fits) == 1 else ""


def random_head(rng, slices, n):
    """Return what `head` reads; the logits of some images are far from 0."""
    part = rng.standard_normal((slices, n, 128)) * rng.choice([1, 40], (1, n, 1))
    b3, b4 = rng.standard_normal(128), 3 * rng.standard_normal(10)
    w4 = 0.3 * rng.standard_normal((10, 128))
    labels = rng.integers(0, 10, n + 3).astype(np.uint8)
    order = rng.integers(0, n + 3, 2 * n).astype(np.int32)
    numbers = (a.astype(np.float32) for a in (part, b3, w4, b4))
    return *numbers, labels, order, np.array([1], np.int32)


def head_outputs(part, *_):
    """Return what `head` writes, as it is before."""
    n = part.shape[1]
    return np.full((n, 128), -1, np.float32), np.zeros((n, 1472), np.float32)


def head_gradients(part, b3, w4, b4, labels, order, counter):
    """What `head` writes, by PyTorch's autograd in double precision."""
    n = part.shape[1]
    part, b3, w4, b4 = (torch.tensor(np.float64(a)) for a in (part, b3, w4, b4))
    before = (part.sum(0) + b3).requires_grad_()
    h = F.relu(before)
    z = F.linear(h, w4, b4)
    z.retain_grad()
    mine = order[int(counter[0]) * n :][:n]
    right = torch.tensor(labels[mine].astype(np.int64))
    rows = F.cross_entropy(z, right, reduction="none")
    rows.mean().backward()
    sums = torch.zeros(n, 1472, dtype=torch.float64)
    sums[:, :1280] = (z.grad[:, :, None] * h.detach()[:, None]).flatten(1)
    sums[:, 1280:1290], sums[:, 1290:1418] = z.grad, before.grad
    sums[:, 1418] = rows.detach()
    return before.grad.float().numpy(), sums.float().numpy()


def factor(got, right):
    """Return by what `right` has to be multiplied to give `got`; None if by nothing."""
    if not right.any():
        return None
    by = float(np.vdot(got, right) / np.vdot(right, right))
    return by if agrees(got, by * right, 1e-3) else None


IN_SUMS = {
    "dw4": slice(1280),
    "db4": slice(1280, 1290),
    "the copy of dh": slice(1290, 1418),
    "the losses": slice(1418, 1419),
}


def sections(dh, sums):
    """Return what `head` writes, by name."""
    found = {"`dh`": dh} | {name: sums[:, at] for name, at in IN_SUMS.items()}
    return {name: np.float64(values) for name, values in found.items()}


def head_made(given, bias=1, own=False, one=None, unmasked=False, whole=False):
    """Return what `head` writes if it makes a mistake.

    bias: how often b4 is added. own: whether a lane has its own part of the products.
    one: what is subtracted from p, (n, 10). whole: whether dh is added over the lanes.
    """
    part, b3, w4, b4, labels, order, counter = given
    n = part.shape[1]
    part, b3, w4, b4 = (np.float64(a) for a in (part, b3, w4, b4))
    before = part.sum(0) + b3
    h = np.maximum(before, 0).reshape(n, 32, 1, 4)
    w = w4.reshape(10, 32, 4).swapaxes(0, 1)  # lane, k, unit
    mine = labels[order[int(counter[0]) * n :][:n]].astype(int)
    dots = (w * h).sum(-1)
    z = (dots if own else dots.sum(1, keepdims=True)) + bias * b4
    z = np.broadcast_to(z, (n, 32, 10))
    power = np.exp(z - z.max(-1, keepdims=True))
    total = power.sum(-1, keepdims=True)
    loss = np.log(total[:, 0, 0]) + z[:, 0].max(-1) - z[range(n), 0, mine]
    dz = power / total - (np.eye(10)[mine] if one is None else one)[:, None]
    dz = dz[..., None] / n
    d = (dz * w).sum(2)
    d = np.broadcast_to(d.sum(1, keepdims=True), d.shape) if whole else d
    d = (d if unmasked else d * (h[:, :, 0] > 0)).reshape(n, 128)
    dw = (dz * h).swapaxes(1, 2).reshape(n, 1280)
    return sections(d, np.hstack([dw, dz[:, 0, :, 0], d, loss[:, None]]))


def odd_head(*values):
    """Say which mistake explains what `head` writes, or which part of it is right."""
    given, (dh, sums) = values[:7], values[7:]
    if said := odd_factors(*values):
        return said
    got, right = sections(dh, sums), head_made(given)
    labels, order, counter = given[4:]
    n = len(dh)
    one = np.eye(10)[labels[order[int(counter[0]) * n :][:n]]]
    off = [name for name in got if not agrees(got[name], right[name], 1e-3)]
    unmasked = head_made(given, unmasked=True)
    masked = [name for name in off if name in ("`dh`", "the copy of dh")]
    if masked == off and all(is_clearly(got[k], unmasked[k], right[k]) for k in off):
        said = f"Here, {joined(masked)} {verb(masked)} wrong only "
        return f"{said}where h is 0. What should the gradient be there?"
    slips = {
        "`b4[k]` is added in each of the 32 lanes. What does `warp_sum` add up?": (
            {"bias": 32}
        ),
        "`b4` is not added": {"bias": 0},
        "`b4` is subtracted": {"bias": -1},
        "each lane has only its own part of the sum over j in z[k]": {"own": True},
        "1 is subtracted from every p[k]. For which k should it be?": (
            {"one": np.ones((n, 10))}
        ),
        "1 is not subtracted from p[k] where k is the label": {"one": 0 * one},
        "1 is added to p[k] where k is the label, and not subtracted": {"one": -one},
        "dh is added up over the lanes. Which units has each lane?": {"whole": True},
    }
    fits = []
    for what, slip in slips.items():
        made = head_made(given, **slip)
        same = all(agrees(got[k], made[k], 1e-3) for k in got)
        if same and any(not agrees(made[k], right[k], 1e-2) for k in off):
            fits.append(what)
    if len(fits) == 1:
        return sentence(f"This is the result if {fits[0]}")
    fine = [name for name in IN_SUMS if name not in off]
    if not fine or off in ([], ["`dh`"]):  # the verdict says which outputs are right
        return ""
    return f"In `sums`, {joined(fine)} {verb(fine)} right."


def verb(names):
    """Return "is" or "are", as these parts of the results need."""
    return "is" if len(names) == 1 and names != ["the losses"] else "are"


def odd_factors(part, b3, w4, b4, labels, order, counter, dh, sums):
    """Say which results are all the same multiple of what they should be."""
    n = part.shape[1]
    dh_right, right = head_gradients(part, b3, w4, b4, labels, order, counter)
    where = IN_SUMS
    by = {"`dh`": factor(dh.astype(float), dh_right.astype(float))}
    for name, columns in where.items():
        got = sums[:, columns].astype(float)
        by[name] = factor(got, right[:, columns].astype(float))
    fine = [name for name, k in by.items() if k and abs(k - 1) < 1e-3]
    off = {name: k for name, k in by.items() if name not in fine}
    if not off or not all(off.values()):
        return ""
    times = max(off.values(), key=abs)
    if any(abs(k / times - 1) > 1e-3 for k in off.values()):
        return ""
    of = f"1/{n} of" if abs(times * n - 1) < 1e-3 else f"{times:.4g} times"
    are, they = verb([*off]), "it" if verb([*off]) == "is" else "they"
    said = f"Here, {joined(off)} {are} {of} what {they} should be"
    if min(abs(times / n - 1), abs(times * n - 1)) < 1e-3:
        said += f", and n, the number of images, is {n}"
    fine = [name for name in fine if name in where]
    right_too = f" In `sums`, {joined(fine)} {verb(fine)} right." if fine else ""
    return f"{said}.{right_too}"


def random_parts(rng, k, n, m):
    """Return parts of m gradients of convolutions and of 20 others, and numbers."""
    conv, sums = (np.round(4 * rng.standard_normal(s)) / 4 for s in ((k, m), (n, 25)))
    numbers = np.float32(0.5), np.int32(k + 1)
    return conv.astype(np.float32), sums.astype(np.float32), *numbers


def before_update(conv, sums, rate, steps):
    """Return parameters, the copy in bfloat16 of some, and the number of the step."""
    m = conv.shape[1]
    theta = ((7 * np.arange(m + 20)) % 23 - 11).astype(np.float32) / 4
    counter = [int(steps) - 1 - len(sums) % 2]
    return theta, np.full(m - 8, 9, np.int16), np.array(counter, np.int32)


def odd_copy(conv, sums, rate, steps, theta, w2, counter):
    """Say which numbers are in w2, if it is wrong where theta is right."""
    right, copies, _ = after_update(conv, sums, rate, steps)
    wrong = np.flatnonzero(w2 != copies)
    if not wrong.size or not np.array_equal(theta, right):
        return ""
    if np.array_equal(w2, right[: w2.size].astype(np.int16)):
        return "This is the result if `theta[c]` is stored as an integer."
    k = int(wrong[0])
    mine, should = (of_bits(bits)[k] for bits in (w2, copies))
    said = f"As numbers, w2[{k}] is {mine:.4g} and should be {should:.4g}."
    before = before_update(conv, sums, rate, steps)[0][: w2.size]
    if np.array_equal(of_bits(w2), before):
        return f"{said} `w2` has the copies of `theta` as it was before the step."
    return said


def of_bits(bits):
    """Return the numbers of which these are the bits in bfloat16, as int16."""
    return (bits.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)


def after_update(conv, sums, rate, steps):
    """What `update` makes of that; all numbers are multiples of 1/8, so exact."""
    theta, w2, counter = before_update(conv, sums, rate, steps)
    gradient = np.concatenate([conv.sum(0), sums.sum(0)])[: theta.size]
    theta = (theta - float(rate) * gradient).astype(np.float32)
    rounded = torch.tensor(theta[: w2.size]).bfloat16().view(torch.int16).numpy()
    return theta, rounded, (counter + 1) % int(steps)


def quarters(rng, *shape):
    """Return words of two bfloat16, multiples of 1/4: sums are exact."""
    values = np.round(4 * rng.standard_normal(shape)).astype(np.float32) / 4
    return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.int32)


def numbers(x):
    """Return the numbers in words, twice as many in the last axis."""
    halves = np.ascontiguousarray(x.astype(np.int32)).view(np.uint16)
    return (halves.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def random_words(rng, n, h, w, c, f):
    """Return images, filters and biases for 16 c channels and 8 f filters.

    Half of the first image is empty, so that the pixels of a window are equal there.
    """
    bias = np.round(8 * rng.standard_normal(8 * f)) - 4
    x = quarters(rng, n, 2 * h, 2 * w, 16 * c)
    x[0, :, w:] = 0
    return x, quarters(rng, 8 * f, 9, 16 * c), bias.astype(np.float32)


def pool_outputs(x, w, b):
    """Return what `conv_pool` writes, as it is before."""
    shape = x.shape[0], x.shape[1] // 2, x.shape[2] // 2, len(b)
    return np.full(shape, -1, np.float32), np.full(shape, 9, np.uint8)


def three_layers(x, w, b):
    filters = numbers(w).reshape(len(b), 3, 3, -1)
    return largest(convolution(numbers(x), filters, b))


PLACES = (
    "row g, word t",
    "row g + 8, word t",
    "row g, word t + 4",
    "row g + 8, word t + 4",
)
COUNTED = "first", "second", "third", "fourth"


def by_halves(x, w):
    """Return what the halves of a group's words contribute to the convolution.

    (half of x, half of w, n, i, j, upper or lower, left or right, filter), without the
    bias. The words t are half 0, and the words t + 4 are half 1.
    """
    near = patches(numbers(x))
    n, h2, w2 = near.shape[:3]
    near = near.reshape(n, h2, w2, 9, -1, 2, 8)
    filters = numbers(w).reshape(len(w), 9, -1, 2, 8)
    made = np.einsum("nijpgxc,fpgyc->xynijf", near, filters, optimize=True)
    made = made.reshape(2, 2, n, h2 // 2, 2, w2 // 2, 2, len(w))
    return made.transpose(0, 1, 2, 3, 5, 4, 6, 7)


def of_windows(values):
    """Return the largest of each window or 0, and which pixel: (..., row, side, f)."""
    pixels = np.moveaxis(values, -1, -3).reshape(*values.shape[:-3], -1, 4)
    best = pixels.max(-1)
    return np.maximum(best, 0), np.where(best > 0, pixels.argmax(-1), 4)


def odd_windows(x, w, b, y, won):
    """Say which sums were compared, or which words were multiplied, as y shows."""
    halves = by_halves(x, w)
    sums = halves[0, 0] + halves[1, 1] + b
    if np.array_equal(y, of_windows(sums)[0]):
        n, h2, w2 = x.shape[:3]
        return odd_winners(sums.swapaxes(-4, -3).reshape(n, h2, w2, -1), y, won)
    return (
        odd_choice(sums - b, b, y)
        or odd_words(halves, b, y, won)
        or odd_layers(sums - b, b, y)
        or odd_pixels(x, w, b, y)
    )


def the_only(made, y):
    """Return what makes y, if only one of the mistakes does: [(what, result)]."""
    fits = [what for what, each in made if np.array_equal(each.reshape(y.shape), y)]
    return fits[0] if len(fits) == 1 else ""


def odd_layers(sums, b, y):
    """Say what happens to the right sums after the convolution, as y shows."""
    windows = np.moveaxis(sums, -1, -3).reshape(-1, len(b), 4).max(-1)
    window, f = np.indices(windows.shape)
    g, t, e = window % 8, f % 8 // 2, f % 2
    first = f // 8 * 8
    places = {
        "g": g,
        "t": t,
        "e": e,
        "2t": 2 * t,
        "2t + e": 2 * t + e,
        "first": first,
        "first + g": first + g,
        "first + t": first + t,
        "first + e": first + e,
        "first + 2t": first + 2 * t,
    }
    made = [
        ("the bias is added after ReLU", np.maximum(windows, 0) + b),
        ("ReLU is missing", windows + b),
        ("the bias is missing", np.maximum(windows, 0)),
        ("the bias is subtracted", np.maximum(windows - b, 0)),
        ("the bias is added twice", np.maximum(windows + 2 * b, 0)),
        (
            "columns 2t and 2t + 1 are stored as filters first + t and first + t + 4",
            np.maximum(windows[window, first + f % 4 * 2 + f % 8 // 4] + b, 0),
        ),
    ]
    made += [
        (f"the bias is b[{index}]. To which filter does the sum belong?", each)
        for index, at in places.items()
        if not (at == f).all()
        for each in [np.maximum(windows + b[at], 0)]
    ]
    what = the_only(made, y)
    return sentence(f"The sums are right. This is the result if {what}") if what else ""


def odd_pixels(x, w, b, y):
    """Say which pixels or filters are multiplied, if a mistake there explains y."""
    pixels = numbers(x)
    filters = numbers(w).reshape(len(b), 3, 3, -1)
    n, h, width, c = pixels.shape
    framed = np.pad(pixels, ((0, 0), (2, 2), (2, 2), (0, 0)))

    def convolved(filters, down=0, right=0, apart=(2, 2)):
        """Position (1, 1) of the filter is `down` and `right` of the pixel."""
        rows, columns = (
            (np.arange(size // 2)[:, None] * step + np.arange(2)).ravel()
            for size, step in zip((h, width), apart, strict=True)
        )
        found = np.zeros((n, h, width, len(b)))
        for p, q in product(range(3), repeat=2):
            at = rows + p + 1 + down, columns + q + 1 + right
            found += framed[:, at[0]][:, :, at[1]] @ filters[:, p, q].T
        return largest(found + b)[0]

    made = [
        (
            f"the pixel itself is multiplied by position (p, q) = "
            f"({1 - down}, {1 - right}) of the filter. Which position should it be?",
            convolved(filters, down, right),
        )
        for down, right in product((-1, 0, 1), repeat=2)
        if (down, right) != (0, 0)
    ]
    for apart, which in (
        ((2, 1), "in a row"),
        ((1, 2), "in a column"),
        ((1, 1), "in both directions"),
    ):
        what = f"neighbouring windows share pixels: {which}, they begin one pixel apart"
        made.append((what, convolved(filters, apart=apart)))
    made += [
        (
            "p and q are exchanged, either in the filter or in the image",
            convolved(filters.swapaxes(1, 2)),
        ),
        ("the filter is reversed", convolved(filters[:, ::-1, ::-1])),
        (
            "only the first eight words of a pixel are multiplied",
            convolved(filters * (np.arange(c) < 16)),
        ),
    ]
    f, word = np.arange(len(b))[:, None], np.arange(c // 2)  # two numbers per word
    g, t, first = f % 8, word % 4, f // 8 * 8
    for index, at in {
        "g": g + 0 * t,
        "t": t + 0 * g,
        "first": first + 0 * t,
        "first + t": first + t,
        "first + 2t": first + 2 * t,
    }.items():
        if (at == f).all():
            continue
        taken = [filters[at[:, k // 2], :, :, k] for k in range(c)]
        taken = np.stack(taken, -1)
        what = f"a lane's words of b are from filter {index}. Which filter is it?"
        made.append((what, convolved(taken)))
    what = the_only(made, y)
    return sentence(f"This is the result if {what}") if what else ""


def odd_choice(sums, b, y):
    """Say which of a lane's right sums y compares, if the choice explains y.

    Each index of a sum (row, side and filter) may depend on another variable of the
    loops than it should: on e, or on a bit of k.
    """
    shape = sums.shape
    lanes = sums.reshape(*shape[:-1], -1, 2)  # (..., row, side, t, filter)
    bias = b.reshape(-1, 2)
    e, high, low = (np.arange(2).reshape(s) for s in ((2, 1, 1), (2, 1), (2,)))
    given = {"e": e, "high": high, "low": low, "0": 0 * e, "1": 0 * e + 1}
    for row, side, column in product(given, repeat=3):
        each = [np.broadcast_to(given[k], (2, 2, 2)) for k in (row, side, column)]
        made = np.moveaxis(lanes, -2, 3)[..., *each]  # (n, i, j, t, e, high, low)
        made = np.maximum((made + bias[:, :, None, None]).max((-2, -1)), 0)
        if not np.array_equal(made.reshape(y.shape), y):
            continue
        if column in ("high", "low"):
            return (
                "The sums are right, but `y` is the largest of sums of two filters. "
                "Which elements of `sums[0]` belong to one filter?"
            )
        if column in ("0", "1"):
            which = "2t" if column == "0" else "2t + 1"
            return (
                f"This is the result if both filters of a lane take the sums of column "
                f"{which}."
            )
        if row == side:
            return "`y` is the largest of only two pixels of a window, on a diagonal."
        for pixels, by in (("upper and the lower", row), ("left and the right", side)):
            if by not in ("high", "low"):
                return (
                    f"`y` is the largest of only some pixels of a window: are the "
                    f"{pixels} ones compared with each other?"
                )
    return ""


def odd_words(halves, b, y, won):
    """Say which words of the fragments are in the wrong place, if that explains y."""

    def made(order):  # which word is where: row g or g + 8, word t or t + 4
        sides = [
            sum(halves[word // 2, k, ..., word % 2, :] for k, word in enumerate(words))
            for words in (order[::2], order[1::2])
        ]
        return of_windows(np.stack(sides, -2) + b)

    found = y, won
    fits = [
        order
        for order in product(range(4), repeat=4)
        if all(map(np.array_equal, made(order), found))
    ]
    if fits == [(2, 3, 0, 1)]:
        return (
            "This is the result if words t of a are multiplied by words t + 4 of b, "
            "and words t + 4 by words t."
        )
    if len(fits) != 1:
        return ""
    wrong = joined(
        f"the {COUNTED[k]} word of a is ({PLACES[word]})"
        for k, word in enumerate(fits[0])
        if word != k
    )
    return f"This is the result if {wrong}. In which order does `mma` take them?"

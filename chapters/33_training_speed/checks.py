"""Specifications and data for the checks of lab 33."""

from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from weft.checking.slips import result_if
from weft.checking.source import line_with
from weft.checking.verdict import Failed, Verdict
from weft.wording import several

from .alive import Outputs, Runs
from .models import DEVICE, Net
from .steps import Steps, weights

RATE, MOMENTUM, LONGEST = 0.2, 0.9, 1.2  # of the training script
MOST = 4.0  # that `damped` lets through


def near(got, wanted, tolerance=1e-3):
    """Return whether arrays agree up to a share of the largest wanted element."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    with np.errstate(invalid="ignore"):
        largest = np.abs(wanted).max(initial=0)
        return bool((np.abs(got - wanted) <= tolerance * largest).all())


def all_near(got, wanted, tolerance=1e-3):
    """Return whether each array of a list agrees with its partner in another list."""
    pairs = zip(got, wanted, strict=True)
    return all(near(a, b, tolerance) for a, b in pairs)


def only(fits, lead="This is the result if "):
    """Say what fits a wrong result, or "" unless exactly one thing does."""
    return f"{lead}{fits[0]}." if len(fits) == 1 else ""


def gradients_of(tensors):
    """Return the gradients of tensors, zeros where there is none."""
    return [torch.zeros_like(t) if t.grad is None else t.grad for t in tensors]


def are_right(results, loss, reached):
    """Return whether results are this loss and its gradients, up to rounding.

    The spec is not called for it, as a call of it counts as one by the learner.
    """
    if not all(isinstance(each, torch.Tensor) for each in results):
        return False
    torch.autograd.backward(loss)
    wanted = loss.detach(), *gradients_of(reached)
    return all_near([each.detach().cpu() for each in results], wanted)


def in_float64(value):
    """Return an array as a tensor, in float64 if it holds floats."""
    tensor = torch.from_numpy(value)
    return tensor.double() if tensor.is_floating_point() else tensor


def random_batch(rng, batch, side):
    """Return images, flips, and the mean and standard deviation per channel."""
    images = rng.integers(0, 256, (batch, 3, side, side), dtype=np.uint8)
    flips = rng.random(batch) < 0.5
    mean = rng.uniform(0.4, 0.5, (3, 1, 1)).astype(np.float32)
    std = rng.uniform(0.2, 0.3, (3, 1, 1)).astype(np.float32)
    return images, flips, mean, std


def left_to_right(batch, flips):
    """Return the batch with images mirrored where flips are true."""
    return np.where(flips[:, None, None, None], batch[..., ::-1], batch)


def prepared(images, flips, mean, std):
    """Return the batch as the network needs it, with NumPy."""
    return left_to_right((images / 255 - mean) / std, flips)


def prepared_with(mirror=lambda batch, flips: batch, scale=1 / 255, late=False):
    """Return a slip: a batch prepared in another way.

    mirror: batch, flips -> the batch with its mirrored images. scale: what the bytes
    are multiplied by. late: whether they are so only after the mean is subtracted.
    """

    def slip(images, flips, mean, std):
        batch = (images - mean) * scale if late else images * scale - mean
        return mirror(batch / std, flips)

    return slip


PREPARED = result_if(
    {
        "`flips[k]` mirrors channel k of every image, and not image k": prepared_with(
            lambda x, flips: np.where(flips[:, None, None], x[..., ::-1], x)
        ),
        "the images are turned upside down, and not mirrored left to right": (
            prepared_with(
                lambda x, flips: np.where(flips[:, None, None, None], x[:, :, ::-1], x)
            )
        ),
        "the other images are mirrored": prepared_with(
            lambda x, flips: left_to_right(x, np.logical_not(flips))
        ),
        "no image is mirrored": prepared_with(),
        "all images are mirrored": prepared_with(lambda x, flips: x[..., ::-1]),
        "nothing is divided by 255": prepared_with(left_to_right, 1),
        "the mean is subtracted before the division by 255": prepared_with(
            left_to_right, late=True
        ),
    }
)


def three_gradients(rng, n):
    """Return three gradients, and the norm that they may have."""
    scale = 0.0 if n == 1 else 1.0
    shapes = [(n, 3), (n,), (2, n)]
    gradients = [scale * rng.standard_normal(s).astype(np.float32) for s in shapes]
    return *gradients, 2.0 if n % 2 else 50.0


def clipped(a, b, c, most):
    """Return the norm of three gradients, and the gradients scaled down."""
    norm = np.sqrt(sum((g * g).sum() for g in (a, b, c)))
    factor = most / norm if norm > most else 1.0
    return norm, a * factor, b * factor, c * factor


def call_clip(clip_, *given):
    """Call clip_ on copies; return what it returns and what it changes."""
    gradients = [g.clone() for g in given[:3]]
    return clip_(gradients, given[3]), *gradients


def why_clipped(a, b, c, most, norm, *after):
    """Say what fits a wrong norm, or wrong gradients after a call of clip_."""
    before = [each.astype(np.float64) for each in (a, b, c)]
    norms = np.array([np.linalg.norm(each) for each in before])
    whole = np.linalg.norm(norms)
    if not near(norm, whole):
        said = only([what for what, x in other_norms(before, most) if near(norm, x)])
        return said or "Result 1 is the norm that the function returns."
    known = (
        "Result 1, the norm, is right. Results 2 to 4 are the gradients after the call."
    )
    if whole == 0:
        return f"{known} The norm is 0 here. What is `most / norm` then?"
    if whole > most and all_near(after, before):
        return f"{known} The call has left them as they were."
    factor = most / whole
    limit = np.minimum(most / norms, 1)
    tried = {
        "each gradient is scaled by its own norm": limit,
        "the gradients are scaled down twice": [min(factor, 1) ** 2] * 3,
        "the gradients are multiplied by `norm / most`": [1 / factor] * 3,
        "the gradients are divided by the norm, without `most`": [1 / whole] * 3,
        "only the first gradient is scaled": [min(factor, 1), 1, 1],
        "only the last gradient is scaled": [1, 1, min(factor, 1)],
    }
    if factor > 1:
        said = "gradients are stretched to the norm `most` where theirs is smaller"
        tried[said] = [factor] * 3
    fits = [
        what
        for what, factors in tried.items()
        if all_near(after, [g * f for g, f in zip(before, factors, strict=True)])
    ]
    return f"{known} {only(fits)}".strip()


def other_norms(gradients, most):
    """Return how one may get the common norm wrong, each with the number it gives."""
    norms = np.array([np.linalg.norm(each) for each in gradients])
    whole = np.linalg.norm(norms)
    return [
        ("the norms are added up, and not their squares", norms.sum()),
        ("no root is taken of the sum of the squares", whole**2),
        ("only the largest of the norms counts", norms.max()),
        ("only the last of the norms counts", norms[-1]),
        ("the norms are averaged", norms.mean()),
        ("absolute values are added up", sum(np.abs(g).sum() for g in gradients)),
        ("the norm is that of the gradients after scaling", min(whole, most)),
        (
            "a matrix's norm is its largest singular value, and not the root of the "
            "sum of its elements' squares",
            np.linalg.norm([np.linalg.norm(g, 2) for g in gradients]),
        ),
    ]


WIDTH, CLASSES, CUT = 8, 5, 16


def small_net():
    """Return the same small network, with gradients, at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(33)
        wide = nn.Linear(WIDTH, 32)
        net = nn.Sequential(wide, nn.Tanh(), nn.Linear(32, CLASSES))
        for parameter in net.parameters():
            parameter.grad = torch.randn_like(parameter) / 4
        return net


def labelled(rng, n):
    """Return samples and labels; in a long batch, part 2 is all ignored."""
    x = rng.standard_normal((n, WIDTH)).astype(np.float32)
    y = rng.integers(0, CLASSES, n)
    y[: n // 3][rng.random(n // 3) < 0.7] = -100
    if n > 4 * CUT:
        y[CUT : 2 * CUT] = -100
    return x, y


def whole_batch(x, y):
    """Return the loss of the whole batch, and the weights of the model."""
    model = small_net().to(x.dtype)
    return F.cross_entropy(model(x), y), list(model.parameters())


def at_once(x, y):
    """Return the loss of the whole batch, and the gradients after it."""
    loss, reached = whole_batch(x, y)
    torch.autograd.backward(loss)
    return loss, *gradients_of(reached)


def call_accumulate(accumulate, x, y):
    """Call accumulate on parts of a batch; return loss and gradients.

    Raises `Failed` if they are right, but the tensors of all parts live together.
    """
    model = small_net().to(x.device)
    parts = list(zip(x.split(CUT), y.split(CUT), strict=True))
    outputs = Outputs(model)
    results = accumulate(model, parts), *gradients_of(model.parameters())
    found = outputs.together(parts)
    if found and are_right(results, *whole_batch(x.cpu().double(), y.cpu())):
        message, why, pattern = found
        places = line_with(accumulate, pattern)
        raise Failed(Verdict("accumulate", "held", message, why, places))
    return results


def why_accumulated(x, y, loss, *after):
    """Say what fits a wrong loss, or wrong gradients after a call of accumulate."""
    x, y = in_float64(x), torch.from_numpy(y)
    model = small_net().double()
    parts = list(zip(x.split(CUT), y.split(CUT), strict=True))
    sums = torch.stack(
        [F.cross_entropy(model(a), b, reduction="sum") for a, b in parts]
    )
    count = torch.tensor([int((b != -100).sum()) for _, b in parts])
    size = torch.tensor([len(b) for _, b in parts])
    right = sums.sum() / count.sum()
    known = "Result 1 is the loss, and the others are the model's gradients."
    if np.isnan(loss).any() and (count == 0).any():
        return (
            f"{known} In this batch all labels of one part are −100. What is the mean "
            "over the labels that count in that part?"
        )
    if not near(loss, right.item(), 1e-4):
        means = sums / count
        tried = {
            "ignored labels count in the number that the sum is divided by": (
                sums.sum() / size.sum()
            ),
            "each part's mean has the same weight": means.mean(),
            "the parts' means are added up": means.sum(),
            "a part's mean is multiplied by the number of all its labels, although "
            "it is a mean over those that are not ignored": (
                (means * size).sum() / count.sum()
            ),
            "a part's weight is its share of all labels, ignored ones included": (
                (means * size).sum() / size.sum()
            ),
            "nothing is divided by the number of labels": sums.sum(),
            "it is divided by the number of parts": sums.sum() / len(parts),
            "only the loss of the last part is returned": means[-1],
            "only the last part's share is returned": sums[-1] / count.sum(),
        }
        fits = [what for what, t in tried.items() if near(loss, t.item(), 1e-4)]
        return f"{known} {only(fits, 'The loss is what you get if ')}".strip()

    def gradients(value):
        found = torch.autograd.grad(value, list(model.parameters()), retain_graph=True)
        return [g.numpy() for g in found]

    held = [p.grad.numpy() for p in model.parameters()]
    new, last = gradients(right), gradients(sums[-1] / count.sum())
    whole = gradients(sums.sum())
    many = int(count.sum())
    tried = {
        "those held before the call are missing: it has to add to them": new,
        "they are those of the last part alone": last,
        "they are those held before the call, and nothing has been added": held,
        "only the last part has been added to those held before the call": [
            a + b for a, b in zip(held, last, strict=True)
        ],
        "the gradients held before the call have been divided as well": [
            a / many + b for a, b in zip(held, new, strict=True)
        ],
        "what is added is the gradient of a sum that has not been divided": [
            a + b for a, b in zip(held, whole, strict=True)
        ],
        "the gradients of the batch have been added twice": [
            a + 2 * b for a, b in zip(held, new, strict=True)
        ],
    }
    if len(parts) == 1:  # the whole batch is the last part
        for what in list(tried)[1:4:2]:
            del tried[what]
    fits = [what for what, made in tried.items() if all_near(after, made)]
    known = "Result 1, the loss, is right. The others are the model's gradients"
    return only(fits, f"{known}: ") or f"{known}, and new ones are added to the old."


def layer(rng, n):
    """Return an input and a weight, which is larger for a larger n."""
    x = rng.standard_normal((n, 6)).astype(np.float32)
    return x, (0.1 * n * rng.standard_normal((6, 6))).astype(np.float32)


def damped_in_steps(x, weight):
    """Return the layer's output, with NumPy."""
    y = x @ weight
    top = np.abs(y).max()
    return x + y * (MOST / top if top > MOST else 1.0)


def damped_by_a_constant(x, weight):
    """Return the layer's output, scaled by what autograd takes for a number."""
    y = x @ weight
    top = y.detach().abs().max()
    return x + y * torch.clamp(MOST / top, max=1)


CONSTANT_SCALE = {"the scale counts as a constant": damped_by_a_constant}


def why_damped(x, weight, out):
    """Say what fits a wrong output of damped."""
    x, weight = x.astype(np.float64), weight.astype(np.float64)
    y = x @ weight
    size = np.abs(y)
    scale = MOST / size.max()

    def below(top):
        return np.minimum(MOST / np.maximum(top, 1e-9), 1)

    tried = {
        "each element is cut off at MOST": x + np.clip(y, -MOST, MOST),
        "elements are cut off at MOST, but not at -MOST": x + np.minimum(y, MOST),
        "the top is the largest element, and not the largest absolute value": (
            x + y * below(y.max())
        ),
        "only the elements above MOST are scaled, and not all of them": (
            x + np.where(size > MOST, y * scale, y)
        ),
        "each element above MOST becomes MOST, without its sign": (
            x + np.where(size > MOST, MOST, y)
        ),
        "each row has its own scale": x + y * below(size.max(1, keepdims=True)),
        "each column has its own scale": x + y * below(size.max(0, keepdims=True)),
        "the output is not scaled down": x + y,
        "the input is scaled down as well": (x + y) * min(scale, 1),
        "the top is that of the input and the output together": (
            x + y * below(np.abs(x + y).max())
        ),
        "the scaled output is returned without the input": y * min(scale, 1),
        "the output is divided by the top, and MOST is left out": x + y / size.max(),
    }
    if scale > 1:
        tried["the output is scaled up, although its top is below MOST"] = x + y * scale
    right = x + y * min(scale, 1)
    fits = [
        what
        for what, made in tried.items()
        if near(out, made) and not near(made, right)
    ]
    return only(fits)


LAYERS = 8


def small_blocks():
    """Return the same blocks at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(34)
        return [
            nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16), nn.Tanh())
            for _ in range(LAYERS)
        ]


def samples_and_keep(rng, n, keep):
    """Return n samples, and how many blocks keep their activations."""
    return rng.standard_normal((n, 16)).astype(np.float32), keep


def without_checkpoints(x):
    """Return the loss, and the input, a weight of block 1 and one of block 5."""
    blocks = [block.to(x.dtype) for block in small_blocks()]
    x = x.clone().requires_grad_()
    y = x
    for block in blocks:
        y = block(y)
    return torch.mean(y * y), [x, blocks[0][0].weight, blocks[4][2].weight]


def all_kept(x, keep):
    """Return the loss, and the gradients of the input and of two weights."""
    loss, reached = without_checkpoints(x)
    torch.autograd.backward(loss)
    return loss, *gradients_of(reached)


def call_within(within, x, keep):
    """Call within; return the loss and gradients.

    Raises `Failed` if they are right, but not the blocks that keep their activations.
    """
    blocks = [block.to(x.device) for block in small_blocks()]
    runs = Runs(within, blocks)
    given = x.clone().requires_grad_()
    loss = within(blocks, given, keep)
    results = loss, *gradients_of([given, blocks[0][0].weight, blocks[4][2].weight])
    found = runs.wrong(keep)
    if found and are_right(results, *without_checkpoints(x.cpu().double())):
        raise Failed(Verdict("within", *found, runs.notes()))
    return results


def why_within(x, keep, loss, *after):
    """Say what fits a wrong loss, or wrong gradients after a call of within."""
    x = in_float64(x)
    right = [each.detach().numpy() for each in all_kept(x, keep)]
    known = "Result 1 is the loss, and result 2 its gradient with respect to x."
    if not near(loss, right[0]):
        fits = other_losses(x, keep, loss)
        return f"{known} {only(fits, 'The loss is what you get if ')}".strip()
    known = (
        "Result 1, the loss, is right. Results 2 to 4 are its gradients: those of x, "
        "and of a weight of block 1 and of block 5."
    )
    if all(not np.any(each) for each in after[:2]) and np.any(right[1]):
        return f"{known} No gradient comes back to x: where is the graph cut?"
    for again in (LAYERS - 1, LAYERS - keep - 1):
        if all_near(after, recomputed_with(x, keep, again)):
            return (
                f"{known} They are as if block {again + 1} was computed again in the "
                "backward, in each block's place. When does the function that is "
                "checkpointed look up its block?"
            )
    if all_near(after, [2 * each for each in right[1:]]):
        return f"{known} They are twice as large as they should be."
    return known


def other_losses(x, keep, loss):
    """Return how one may get the loss of `within` wrong, where that fits."""
    with torch.no_grad():
        y, by_block = x, [x]
        for block in small_blocks():
            y = block.double()(y)
            by_block.append(y)
    tried = {
        "the squares are added up, and not averaged": y.square().sum(),
        "the outputs are not squared": y.mean(),
        "absolute values are averaged, and not squares": y.abs().mean(),
        "the mean is squared, and not each output": y.mean().square(),
        "only the checkpointed blocks are run": (
            by_block[LAYERS - keep].square().mean()
        ),
        "the last block is not run": by_block[-2].square().mean(),
        "no block is run": x.square().mean(),
    }
    return [what for what, made in tried.items() if near(loss, made.item())]


def recomputed_with(x, keep, again):
    """Return the gradients if all checkpointed blocks are recomputed as one block."""
    blocks = [block.double() for block in small_blocks()]
    run = {"backward": False}

    def at(k):
        def either(x):
            return blocks[again if run["backward"] else k](x)

        return either

    x = x.clone().requires_grad_()
    y = x
    for k in range(LAYERS - keep):
        y = checkpoint(at(k), y, use_reentrant=False)
    for block in blocks[LAYERS - keep :]:
        y = block(y)
    run["backward"] = True
    y.square().mean().backward()
    found = x.grad, blocks[0][0].weight.grad, blocks[4][2].weight.grad
    return [np.zeros(1) if g is None else g.numpy() for g in found]


def small_step(device):
    """Return the same training step at every call, and the weights that it trains."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(36)
        net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4)).to(device)
    optimiser = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

    def step(x, answers):
        optimiser.zero_grad()
        loss = F.cross_entropy(net(x), answers)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step, list(net.parameters())


def random_points(rng, steps, n):
    """Return batches of points, and the answers to each batch."""
    points = rng.standard_normal((steps, n, 6)).astype(np.float32)
    return points, rng.integers(0, 4, (steps, n))


MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def tiny():
    """Return the same tiny network at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(35)
        return Net((8, 16), 1, 6)


def random_steps(rng, steps, batch, side):
    """Return images, labels and flips; only flips differ between batches.

    The images are brighter at the right edge, so that mirroring changes the losses.
    """
    noise = rng.integers(0, 256, (batch, 3, side, side))
    edge = np.arange(side) >= 3 * side // 4
    images = (0.6 * noise + 0.4 * 255 * edge).astype(np.uint8)
    labels = rng.integers(0, 6, batch)
    flips = rng.random((steps, batch)) < 0.5
    return np.stack([images] * steps), np.stack([labels] * steps), flips


def channel_constants(device, dtype=torch.float32):
    """Return mean and standard deviation, (3, 1, 1) each."""
    return [
        torch.tensor(each, dtype=dtype, device=device).view(3, 1, 1)
        for each in (MEAN, STD)
    ]


def losses_of(images, labels, flips):
    """Train in float64, step by step; return the losses."""
    found = losses_with(images, labels, flips)
    return torch.tensor(found, dtype=torch.float64)


def losses_with(images, labels, flips, without=""):
    """Return the losses in float64 if the training goes `without` one of its parts."""
    model = tiny().double()
    mean, std = channel_constants("cpu", torch.float64)
    momentum = 0 if without == "momentum" else MOMENTUM
    optimiser = torch.optim.SGD(model.parameters(), RATE, momentum)
    found = []
    for batch, answers, mirrored in zip(images, labels, flips, strict=True):
        x = batch.double()
        if without != "normalising":
            x = (x / (1 if without == "division" else 255) - mean) / std
        if without == "the right flips":
            mirrored = ~mirrored
        if without != "flips":
            x = torch.where(mirrored.view(-1, 1, 1, 1), x.flip(-1), x)
        if without != "clearing":
            optimiser.zero_grad()
        loss = F.cross_entropy(model(x), answers)
        loss.backward()
        if without == "gradients":
            optimiser.zero_grad()
        parameters = list(model.parameters())
        together = [[each] for each in parameters]
        for part in together if without == "the common norm" else [parameters]:
            if without != "clipping":
                nn.utils.clip_grad_norm_(part, LONGEST)
        if without != "steps":
            optimiser.step()
        found.append(loss.item())
    return found


LATER = (
    "The loss of the first step is right. Those of later steps also depend on how the "
    "weights change: on the gradients, on clipping them before they are used, and on "
    "the optimiser's step."
)


ERROR = [0.002, 0.01, 0.04, 0.06]  # of a loss by bfloat16, which grows step by step


def why_trained(images, labels, flips, losses):
    """Say what fits wrong losses of train, as far as bfloat16 can tell it."""
    given = torch.from_numpy(images), torch.from_numpy(labels), torch.from_numpy(flips)
    losses = np.asarray(losses, np.float64)
    tried = {
        "": [""],
        "no gradient is clipped before the optimiser uses it": ["clipping"],
        "each gradient is scaled by its own norm": ["the common norm"],
        "gradients add up from step to step": ["clearing"],
        "the weights never change": ["steps"],
        "the images are not mirrored": ["flips"],
        "the other images are mirrored": ["the right flips"],
        "the images are normalised otherwise, or not at all": [
            "normalising",
            "division",
        ],
        "the optimiser has no momentum": ["momentum"],
    }
    apart = {}
    error = np.resize(ERROR + ERROR[-1:] * len(losses), len(losses))
    for what, parts in tried.items():
        made = [np.array(losses_with(*given, without=part)) for part in parts]
        apart[what] = min((np.abs(losses - each) / error).max() for each in made)
    best, second = sorted(apart, key=apart.get)[:2]
    said = ""
    if best and apart[best] < 2 and apart[best] < apart[second] / 2:
        said = f"These are, about, the losses if {best}."
    elif near(losses[:1], losses_with(*(each[:1] for each in given))):
        said = LATER
    return " ".join(filter(None, [said, *about_steps()]))


STEPS = Steps()  # those of the last call of `train`


def about_steps():
    """Say what is odd about the optimiser's steps in the last call of `train`."""
    found = []
    if len(STEPS.optimisers) > 1:
        found.append(
            f"{len(STEPS.optimisers)} different optimisers step in one call, and each "
            "of them begins without momentum."
        )
    step, norm = STEPS.longest()
    if not STEPS.norms:
        found.append("No optimiser makes a step.")
    elif norm == 0:
        found.append("No gradient is left when the optimiser steps.")
    elif norm > 1.01 * LONGEST:
        found.append(
            f"At step {step}, the gradients that the optimiser uses have a common norm "
            f"of {norm:.3g}, above {LONGEST}."
        )
    return found


def why_so_many(record):
    """Return why a call of `train` runs too many operators, and on which lines.

    Those of the model's forward and backward do not count, as the model is given.
    """
    given = {heard.place for heard in record.operators if "conv" in heard.what}
    count = Counter(h.place for h in record.operators if h.place not in given)
    lines = [(place, several(n, "operator")) for place, n in count.most_common(3)]
    steps = len(STEPS.norms)
    many = max([0, *(len(weights(each)) for each in STEPS.optimisers)])
    each = sum(count[place] for place in STEPS.places) // max(steps, 1)
    if not steps or each < many:
        return "", lines
    why = (
        f"One step of the optimiser runs {several(each, 'operator')}, some for each of "
        f"the model's {many} tensors of weights. A fused one needs far fewer."
    )
    return why, [(place, several(count[place], "operator")) for place in STEPS.places]


def call_train(train, images, labels, flips):
    """Call train on a tiny network; return the losses.

    Raises `Failed` if the weights have another type afterwards.
    """
    batches = list(zip(images, labels, flips, strict=True))
    constants = channel_constants(DEVICE)
    model = tiny().to(DEVICE)
    with STEPS.watched(train):
        losses = train(model, batches, *constants, DEVICE)
    for other in {each.dtype for each in model.parameters()} - {torch.float32}:
        name = str(other).removeprefix("torch.")
        raise Failed(
            Verdict(
                "train",
                "precision",
                f"After the call, the model's weights are {name}; they were float32.",
                "Autocast leaves the weights as they are, and casts copies of them.",
                line_with(train, rf".*\bmodel\b.*({name}|half|double)"),
                headline="weights of another type",
            )
        )
    return losses

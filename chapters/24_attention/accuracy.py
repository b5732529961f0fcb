"""How far the fast kernels' results are from float64's."""

import math

import weft

from .attention import SCALE128, Attention
from .measure import HEADS, backend, cudnn_backward, normal

if weft.GPU:
    import torch


def in_float64(q, k, v, g, causal):
    """Return the output, its log-sum-exp and the three gradients."""
    q, k, v = (x.double().requires_grad_() for x in (q, k, v))
    s = q @ k.mT * SCALE128
    if causal:
        later = torch.ones_like(s, dtype=torch.bool).triu(1)
        s = s.masked_fill(later, -math.inf)
    out = torch.softmax(s, dim=-1) @ v
    return (
        out,
        s.logsumexp(-1),
        *torch.autograd.grad(out, (q, k, v), g.double()),
    )


def error(got, wanted):
    """Return the relative error of a tensor."""
    wanted = wanted.reshape(got.shape)
    return ((got - wanted).norm() / wanted.norm()).item()


def repeated(results, *passes):
    """Run some passes 20 times; return the results, and whether they are alike."""
    first, same = None, True
    for _ in range(20):
        for each in results:
            each.fill_(math.nan)
        for run in passes:
            run()
        now = [each.clone() for each in results]
        first = first or now
        same = same and all(map(torch.equal, first, now))
    return results, same


def report():
    """Compare every element with float64, and 20 runs bit by bit."""
    if weft.on_gpu("TMA and wgmma are not simulated"):
        print("relative errors      output      dq      dk      dv   log-sum-exp")
        for seq, causal in ((1024, False), (1024, True), (1000, False), (77, True)):
            q, k, v, g = normal(4, HEADS, seq)
            right, right_lse, *grads = in_float64(q, k, v, g, causal)
            mine = Attention(q, k, v, causal)
            for stored in (True, False):
                mine.prepare(g, stored)
                results = mine.out, mine.dq, mine.dk, mine.dv, mine.lse
                (*found, lse), same = repeated(results, mine.forward, mine.backward)
                errors = list(map(error, found, (right, *grads)))
                errors.append(error(lse[:, :seq], right_lse))
                name = f"{seq}{', causal' if causal else ''}"
                name = name if stored else "  seven products"
                print(f"{name:18}", *(f"{e:7.1e}" for e in errors), "20 alike:", same)
                assert same
                assert max(errors) < 4e-3
            theirs = [error(backend("CUDNN_ATTENTION", q, k, v, causal)(), right)]
            found = cudnn_backward(q, k, v, g, causal)()
            theirs += map(error, found, grads)
            print(f"{'  cuDNN':18}", *(f"{e:7.1e}" for e in theirs))
        report_forward()


def report_forward():
    """Compare the forward pass with larger scores, for both sizes of tiles.

    In one case, the last tiles are cut. With these scores, the maximum of a row grows
    by more than 8, in base 2, in some tiles.
    """
    cases = (1024, False, 1), (1000, True, 1), (1200, False, 4), (77, False, 1)
    for seq, causal, cuts in cases:
        q, k, v, g = normal(4, HEADS, seq)
        q = 8 * q
        right, right_lse, *_ = in_float64(q, k, v, g, causal)
        for keys in (128, 160):
            mine = Attention(q, k, v, causal, keys=keys, cuts=cuts)
            (out, lse), same = repeated((mine.out, mine.lse), mine.forward)
            errors = error(out, right), error(lse[:, :seq], right_lse)
            name = f"{seq}{', causal' if causal else ''}, tiles of {keys}"
            name += ", last ones cut" if cuts > 1 else ""
            print(f"{name:42}", *(f"{e:7.1e}" for e in errors), "20 alike:", same)
            assert same
            assert max(errors) < 4e-3

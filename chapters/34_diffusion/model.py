"""The network: a UNet of two levels, with ResBlocks and transformers."""

import math

import torch
import torch.nn.functional as F
from torch import nn

import weft

DEVICE = torch.device("cuda" if weft.GPU else "cpu", 0)
BF16, CHANNELS_LAST = torch.bfloat16, torch.channels_last


class ResBlock(nn.Module):
    """Two convolutions, the time between them, and a shortcut."""

    def __init__(self, channels, width, time, groups):
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, channels)
        self.conv1 = nn.Conv2d(channels, width, 3, padding=1)
        self.time = nn.Linear(time, width)
        self.norm2 = nn.GroupNorm(groups, width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.skip = nn.Identity()
        if channels != width:
            self.skip = nn.Conv2d(channels, width, 1)

    def forward(self, x, t):
        y = self.conv1(F.silu(self.norm1(x)))
        y = y + self.time(F.silu(t))[:, :, None, None]
        y = self.conv2(F.silu(self.norm2(y)))
        return self.skip(x) + y


class Attention(nn.Module):
    """Attention from the pixels to a sequence of vectors."""

    def __init__(self, width, context, head):
        super().__init__()
        self.head = head
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(context, width, bias=False)
        self.v = nn.Linear(context, width, bias=False)
        self.out = nn.Linear(width, width)

    def heads(self, x):
        """Split: (n, length, width) -> (n, heads, length, head)."""
        return x.unflatten(-1, (-1, self.head)).transpose(1, 2)

    def attend(self, q, k, v):
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2))

    def forward(self, x, context):
        parts = self.q(x), self.k(context), self.v(context)
        return self.attend(*map(self.heads, parts))


class Transformer(nn.Module):
    """Self-attention, cross-attention and an MLP, on the pixels of an image."""

    def __init__(self, width, text, head, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, width, eps=1e-6)
        self.enter, self.leave = (
            nn.Linear(width, width),
            nn.Linear(width, width),
        )
        self.norm1, self.norm2, self.norm3 = map(nn.LayerNorm, [width] * 3)
        self.own = Attention(width, width, head)
        self.cross = Attention(width, text, head)
        self.up = nn.Linear(width, 8 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x, text):
        n, c, h, w = x.shape
        y = self.norm(x).permute(0, 2, 3, 1).reshape(n, h * w, c)
        y = self.enter(y)
        z = self.norm1(y)
        y = y + self.own(z, z)
        y = y + self.cross(self.norm2(y), text)
        a, b = self.up(self.norm3(y)).chunk(2, -1)
        y = self.leave(y + self.down(a * F.gelu(b)))
        return x + y.reshape(n, h, w, c).permute(0, 3, 1, 2)


def embed(t, width):
    """Return sines and cosines of the times: (n,) -> (n, width) float32."""
    k = torch.arange(width // 2, device=t.device) / (width // 2)
    angles = t[:, None].float() * torch.exp(-math.log(10000) * k)
    return torch.cat([angles.cos(), angles.sin()], -1)


class UNet(nn.Module):
    """A UNet of two levels: x (n, 4, h, w), t (n,), text (n, tokens, text)."""

    def __init__(self, widths=(320, 640), text=768, head=64, groups=32):
        super().__init__()
        a, b = self.widths = widths
        attention, norm = (text, head, groups), groups
        time = 4 * a
        self.time = nn.Sequential(nn.Linear(a, time), nn.SiLU(), nn.Linear(time, time))
        self.enter = nn.Conv2d(4, a, 3, padding=1)
        self.shrink = nn.Conv2d(a, a, 3, 2, 1)
        shapes = [
            (a, a),
            (a, b),
            (b, b),
            (b, b),
        ]  # the ResBlocks on the way down
        shapes += [(b + b, b), (b + a, b), (b + a, a), (a + a, a)]  # and up
        self.res = nn.ModuleList(ResBlock(*s, time, norm) for s in shapes)
        widths = a, b, b, b, b, a, a
        self.att = nn.ModuleList(Transformer(w, *attention) for w in widths)
        self.grow = nn.Conv2d(b, b, 3, padding=1)
        self.norm = nn.GroupNorm(groups, a)
        self.leave = nn.Conv2d(a, 4, 3, padding=1)

    def forward(self, x, t, text):
        t = self.time(embed(t, self.widths[0]).to(x.dtype))
        res, att = self.res, self.att

        def both(k, x):
            """A ResBlock, and the transformer that follows it."""
            return att[k - (k > 2)](res[k](x, t), text)

        x0 = self.enter(x)
        x1 = both(0, x0)
        x2 = self.shrink(x1)
        x3 = both(1, x2)
        y = res[3](both(2, x3), t)
        y = both(4, torch.cat([y, x3], 1))
        y = both(5, torch.cat([y, x2], 1))
        y = self.grow(F.interpolate(y, scale_factor=2.0, mode="nearest"))
        y = both(6, torch.cat([y, x1], 1))
        y = both(7, torch.cat([y, x0], 1))
        return self.leave(F.silu(self.norm(y)))

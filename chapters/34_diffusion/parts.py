"""The same network in parts, each of which an entry of the worklog may replace."""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

from . import learner
from .model import CHANNELS_LAST, ResBlock
from .operators import flat, folded, norm_image, own_norm, own_sums, sum_image


@dataclasses.dataclass
class Image:
    """An image, a second one whose channels follow, and their sums."""

    x: torch.Tensor
    more: torch.Tensor | None = None
    sums: tuple = ()

    def whole(self):
        """Return both in one tensor."""
        return self.x if self.more is None else torch.cat([self.x, self.more], 1)


class Parts:
    """The parts of the network, by PyTorch."""

    backend = None  # of attention, by default PyTorch's choice

    def __init__(self, net, tables, pairs):
        self.net, self.pairs = net, pairs
        self.sizes = [table.shape[1] for table in tables]
        self.table = torch.cat(tables, 1)  # (steps, shifts of all ResBlocks)

    def conv(self, x, conv):
        """Return a convolution, without its bias."""
        return F.conv2d(x, conv.weight, None, conv.stride, conv.padding)

    def grown(self, x, conv):
        """Return the same of an image twice as large."""
        return self.conv(F.interpolate(x, scale_factor=2.0), conv)

    def add(self, y, module, x=None):
        """Return y + what biases a module has left, + x where there is one."""
        y = y + self.left(module)[:, None, None]
        return Image(y if x is None else y + x)

    @staticmethod
    def left(module):
        """Return the bias of a layer, or those of a ResBlock's last layers."""
        if not isinstance(module, ResBlock):
            return module.bias
        skip = getattr(module.skip, "bias", None)
        return module.conv2.bias + (0 if skip is None else skip)

    def norm(self, image, norm, shift=None, act=True):
        """Return the norm of an image + shift, and SiLU of it."""
        x = image.whole()
        x = x if shift is None else x + shift[:, None, None]
        x = F.group_norm(x, norm.num_groups, norm.weight, norm.bias, norm.eps)
        return F.silu(x) if act else x

    def shortcut(self, image, conv):
        """Return a 1 x 1 convolution, without its bias."""
        return self.conv(image.whole(), conv)

    def attend(self, q, k, v):
        y = F.scaled_dot_product_attention(q, k, v)
        return y.transpose(1, 2).flatten(2)

    def own(self, x, own):
        """Return self-attention, without its last layer."""
        return self.attend(*map(own.heads, (own.q(x), own.k(x), own.v(x))))

    def gated(self, x, up):
        """Return the gated layer of the MLP."""
        a, b = up(x).chunk(2, -1)
        return a * F.gelu(b)

    def res(self, k, image, shifts):
        """Return ResBlock k, with the shifts of this step."""
        block = self.net.res[k]
        y = self.conv(self.norm(image, block.norm1), block.conv1)
        y = self.norm(Image(y), block.norm2, shifts[k])
        y, x = self.conv(y, block.conv2), image.x
        if isinstance(block.skip, nn.Conv2d):
            x = self.shortcut(image, block.skip)
        return self.add(y, block, x)

    def att(self, k, image):
        """Return transformer k."""
        att, x = self.net.att[k], image.x
        y = att.enter(flat(self.norm(image, att.norm, act=False)))
        y = y + att.own.out(self.own(att.norm1(y), att.own))
        q = att.cross.heads(att.cross.q(att.norm2(y)))
        y = y + att.cross.out(self.attend(q, *self.pairs[k]))
        y = y + att.down(self.gated(att.norm3(y), att.up))
        y = F.linear(y, att.leave.weight)
        return self.add(folded(y, x), att.leave, x)

    def both(self, k, image, shifts):
        return self.att(k - (k > 2), self.res(k, image, shifts))

    def join(self, a, b):
        """Return two images as one with the channels of both."""
        return Image(a.x, b.x, a.sums + b.sums)

    def __call__(self, x, step):
        """Return what the network predicts of x at this step, a tensor (1,)."""
        net = self.net
        shifts = self.table.index_select(0, step)[0].split(self.sizes)
        x0 = self.add(self.conv(x, net.enter), net.enter)
        x1 = self.both(0, x0, shifts)
        x2 = self.add(self.conv(x1.x, net.shrink), net.shrink)
        x3 = self.both(1, x2, shifts)
        y = self.res(3, self.both(2, x3, shifts), shifts)
        y = self.both(4, self.join(y, x3), shifts)
        y = self.both(5, self.join(y, x2), shifts)
        y = self.add(self.grown(y.x, net.grow), net.grow)
        y = self.both(6, self.join(y, x1), shifts)
        y = self.both(7, self.join(y, x0), shifts)
        return net.leave(self.norm(y, net.norm))


class Rewritten(Parts):
    """The parts with fewer and smaller products, by PyTorch."""

    def __init__(self, net, tables, pairs):
        super().__init__(net, tables, pairs)
        for att in net.att:
            layers = att.own.q, att.own.k, att.own.v
            att.own.together = torch.cat([layer.weight for layer in layers])
        merged = learner.phases(net.grow.weight.float()).flatten(0, 2)
        net.grow.merged = merged.to(net.grow.weight.dtype, memory_format=CHANNELS_LAST)

    def own(self, x, own):
        y = F.linear(x, own.together).unflatten(-1, (3, -1, own.head))
        return self.attend(*(part.transpose(1, 2) for part in y.unbind(2)))

    def grown(self, x, conv):
        n, _, h, w = x.shape
        y = F.conv2d(x, conv.merged, padding=1)  # (n, 2 2 c, h + 1, w + 1)
        y = y.permute(0, 2, 3, 1).unflatten(-1, (2, 2, -1))
        rows = [
            torch.stack([y[:, a : a + h, b : b + w, a, b] for b in (0, 1)], 3)
            for a in (0, 1)
        ]
        y = torch.stack(rows, 2)  # (n, h, 2, w, 2, c)
        return y.view(n, 2 * h, 2 * w, -1).permute(0, 3, 1, 2)


class Kernels(Parts):
    """The parts, with the norms and sums by the two kernels."""

    def __init__(self, net, tables, pairs):
        super().__init__(net, [table.float() for table in tables], pairs)
        self.unit = net.widths[0] // net.norm.num_groups
        device = tables[0].device
        self.zeros = torch.zeros(4 * net.widths[1], device=device)
        for module in net.modules():
            if isinstance(module, nn.GroupNorm):
                module.weight32 = module.weight.float()
                module.bias32 = module.bias.float()
            elif getattr(module, "bias", None) is not None:
                module.left32 = module.bias.float()
        for block in net.res:
            block.left32 = self.left(block).float()

    def add(self, y, module, x=None):
        out, sums = sum_image(x, y, module.left32, self.unit, True)
        return Image(out, None, (sums,))

    def norm(self, image, norm, shift=None, act=True):
        c = norm.num_channels
        sums = list(image.sums)
        shift = self.zeros[:c] if shift is None else shift
        if not sums:
            sums = [sum_image(None, image.x, shift, self.unit, False)[1]]
        own = norm.weight32, norm.bias32, norm.num_groups, norm.eps, act
        return norm_image(image.x, image.more, shift, sums, *own)

    def shortcut(self, image, conv):
        a, weight = flat(image.x), conv.weight.flatten(1)
        y = F.linear(a, weight[:, : a.shape[-1]])
        if image.more is not None:
            y = y + F.linear(flat(image.more), weight[:, a.shape[-1] :])
        return folded(y, image.x)


class Fused(Kernels, Rewritten):
    """The rewritten model, with the two kernels."""


class Yours(Fused):
    """The same, with exercise 6's kernel where two images are added."""

    def add(self, y, module, x=None):
        if x is None:
            return super().add(y, module)
        out, sums = own_sums(x, y, module.left32, self.unit)
        return Image(out, None, (sums,))


class Mine(Rewritten):
    """The rewritten model, with the norm of exercise 4."""

    def norm(self, image, norm, shift=None, act=True):
        if not act or image.more is not None:
            return super().norm(image, norm, shift, act)
        x, weights = image.x, (norm.weight.float(), norm.bias.float())
        shift = torch.zeros_like(weights[0]) if shift is None else shift.float()
        shift = shift.expand(len(x), -1).contiguous()
        return own_norm(x, shift, *weights, norm.num_groups)

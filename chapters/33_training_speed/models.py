"""The two models that chapter 33 trains: for images, and for text."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import weft

DEVICE = torch.device("cuda" if weft.GPU else "cpu", 0)
CHANNELS_LAST = torch.channels_last
BF16 = torch.bfloat16


class Residual(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.one = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.two = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.skip = nn.Identity()
        if stride > 1 or channels != width:
            shortcut = nn.Conv2d(channels, width, 1, stride, bias=False)
            self.skip = nn.Sequential(shortcut, nn.BatchNorm2d(width))

    def forward(self, x):
        y = F.relu(self.norm1(self.one(x)))
        return F.relu(self.norm2(self.two(y)) + self.skip(x))


class Net(nn.Module):
    """A residual network: a stem, stages of increasing width, a classifier."""

    def __init__(self, widths=(64, 128, 256, 512), depth=2, classes=1000):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(widths[0])
        blocks, channels = [], widths[0]
        for stage, width in enumerate(widths):
            for block in range(depth):
                stride = 2 if stage and not block else 1
                blocks.append(Residual(channels, width, stride))
                channels = width
        self.blocks = nn.Sequential(*blocks)
        self.classify = nn.Linear(channels, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.classify(self.blocks(x).mean((2, 3)))


class Block(nn.Module):
    """Attention and an MLP, each with a norm before it and a sum after it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = (
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
        )
        self.up, self.down = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        batch, length, width = x.shape
        split = batch, length, 3, self.heads, width // self.heads
        q, k, v = self.qkv(self.norm1(x)).view(split).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Stack(nn.Module):
    """Blocks between an embedding and a prediction of the next token."""

    def __init__(self, width=1024, layers=4, vocabulary=8192, length=512):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.predict = nn.Linear(width, vocabulary, bias=False)
        self.recomputed = ()  # numbers of the blocks that are checkpointed

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places[: tokens.shape[1]]
        for number, block in enumerate(self.blocks):
            again = number in self.recomputed
            x = self.checkpointed(block, x) if again else block(x)
        return self.predict(self.norm(x))

    @staticmethod
    def checkpointed(block, x):
        """Run a block, which keeps nothing but its input.

        It draws no random numbers, whose state a CUDA graph could not read.
        """
        return checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)


class Watched(Block):
    """A block that stops the training when a number is not finite."""

    def forward(self, x):
        x = super().forward(x)
        if not torch.isfinite(x).all():
            raise FloatingPointError("not finite")
        return x


class ByHand(Block):
    """A block that computes attention step by step."""

    def forward(self, x):
        batch, length, width = x.shape
        split = batch, length, 3, self.heads, width // self.heads
        q, k, v = self.qkv(self.norm1(x)).view(split).permute(2, 0, 3, 1, 4)
        weights = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        seen = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        weights = weights.masked_fill(~seen, float("-inf")).softmax(-1)
        y = weights.to(v.dtype) @ v
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))

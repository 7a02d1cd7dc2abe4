# SPDX-License-Identifier: Apache-2.0
"""Train a small character transformer on the source of Python's own standard library.

The model is a decoder-only transformer in plain MLX: rotary positions, causal multi-head attention,
layer norm before each block, AdamW with warm-up and cosine decay. Some modules are held out.

The claim, which the exit status answers: after training, the loss on the held-out text is lower
than that text's own bigram conditional entropy, the best any model reaches that looks at one
character only, even if it had counted them in the very text it is judged on.
"""

import argparse
import math
import sys
import sysconfig
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

VOCABULARY_SIZE = 64  # the most common characters, and one that stands for all others
HELD_OUT_EVERY = 10  # every tenth module is held out
HELD_OUT_CHARS = 4_096  # taken from the middle of each held-out module
MAX_CHARS = 6_000_000  # of the library, read in the order of file names

WIDTH, HEADS, LAYERS = 64, 4, 2
CONTEXT, BATCH = 64, 16  # characters a window, windows a step
PEAK_RATE = 6e-3


def read_library():
    """The standard library's top-level modules, lower-cased, as (training, held-out) texts."""
    training, held_out, total = [], [], 0
    folder = Path(sysconfig.get_path("stdlib"))
    for index, path in enumerate(sorted(folder.glob("*.py"))):
        text = path.read_text(encoding="utf-8", errors="replace").lower()
        if index % HELD_OUT_EVERY == HELD_OUT_EVERY - 1:
            start = max(0, (len(text) - HELD_OUT_CHARS) // 2)
            held_out.append(text[start : start + HELD_OUT_CHARS])
        else:
            training.append(text)
        total += len(text)
        if total >= MAX_CHARS:
            break
    if not held_out:
        sys.exit(f"error: {folder} holds too few Python files to train on")
    return "".join(training), "".join(held_out)


def make_encoder(text):
    """A function from text to an array of ids; id 0 is any character outside the vocabulary."""
    common = [char for char, _ in Counter(text).most_common(VOCABULARY_SIZE - 1)]
    ids = {char: index for index, char in enumerate(common, start=1)}
    return lambda text: mx.array(memoryview(bytes(ids.get(char, 0) for char in text)))


def bigram_entropy(tokens):
    """Entropy of a token given the one before it, in nats, by counts from these very tokens."""
    ids = tokens.tolist()
    pairs = Counter(pairwise(ids))
    firsts = Counter(ids[:-1])
    return -sum(n * math.log(n / firsts[first]) for (first, _), n in pairs.items()) / (len(ids) - 1)


class Attention(nn.Module):
    """Causal multi-head self-attention with rotary positions."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.rope = nn.RoPE(width // heads)

    def __call__(self, x):
        batch, length, width = x.shape
        packed = self.query_key_value(x).reshape(batch, length, 3, self.heads, -1)
        query, key, value = packed.transpose(2, 0, 3, 1, 4)
        mixed = mx.fast.scaled_dot_product_attention(
            self.rope(query), self.rope(key), value, scale=self.scale, mask="causal"
        )
        return self.output(mixed.transpose(0, 2, 1, 3).reshape(batch, length, width))


class FeedForward(nn.Module):
    """Two linear layers around a squared ReLU."""

    def __init__(self, width):
        super().__init__()
        self.expand = nn.Linear(width, 4 * width, bias=False)
        self.contract = nn.Linear(4 * width, width, bias=False)

    def __call__(self, x):
        return self.contract(mx.square(nn.relu(self.expand(x))))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width)

    def __call__(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class CharTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY_SIZE, WIDTH)
        self.blocks = [Block(WIDTH, HEADS) for _ in range(LAYERS)]
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY_SIZE, bias=False)

    def __call__(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss_fn(model, window):
    """Mean loss in nats a character; each token of a window is predicted from those before it."""
    logits = model(window[:, :-1])
    return nn.losses.cross_entropy(logits, window[:, 1:].astype(mx.uint32), reduction="mean")


class Progress:
    """One line that rewrites itself on a terminal, and a line for every tenth part elsewhere."""

    def __init__(self, total, stream=sys.stderr):
        self.total, self.stream, self.started = total, stream, time.monotonic()
        self.live = stream.isatty()

    def show(self, done, text):
        if self.live:
            filled = 30 * done // self.total
            end = "\n" if done == self.total else ""
            line = f"\r[{'#' * filled}{'.' * (30 - filled)}] {done}/{self.total}  {text}\033[K{end}"
        elif done == self.total or done * 10 // self.total > (done - 1) * 10 // self.total:
            line = f"{done}/{self.total}  {text}  {time.monotonic() - self.started:.1f} s\n"
        else:
            return
        self.stream.write(line)
        self.stream.flush()


def sample_windows(tokens):
    """A batch of windows from random places; the token before what is predicted comes with them."""
    starts = mx.random.randint(0, tokens.size - CONTEXT, (BATCH, 1))
    return tokens[starts + mx.arange(CONTEXT + 1)]


def held_out_loss(model, tokens):
    """Mean loss over all whole windows of the text; every token but the first is predicted once."""
    starts = mx.arange(0, tokens.size - CONTEXT, CONTEXT)
    total = 0.0
    for first in range(0, len(starts), BATCH):
        windows = tokens[starts[first : first + BATCH, None] + mx.arange(CONTEXT + 1)]
        total += loss_fn(model, windows).item() * len(windows)
    return total / len(starts)


def learning_rate(steps):
    """Linear warm-up over the first tenth of the steps, then a cosine down to a twentieth."""
    warm_up = max(1, steps // 10)
    rise = optim.linear_schedule(PEAK_RATE / warm_up, PEAK_RATE, warm_up)
    fall = optim.cosine_decay(PEAK_RATE, max(1, steps - warm_up), PEAK_RATE / 20)
    return optim.join_schedules([rise, fall], [warm_up])


def make_step(model, optimizer, compiled):
    """The training step: a function from a batch of windows to its loss that updates the model."""
    loss_and_grad = nn.value_and_grad(model, loss_fn)

    def step(window):
        loss, gradients = loss_and_grad(model, window)
        optimizer.update(model, gradients)
        return loss

    if compiled:
        state = [model.state, optimizer.state]
        return mx.compile(step, inputs=state, outputs=state)
    return step


def train(model, tokens, args):
    optimizer = optim.AdamW(learning_rate(args.steps), betas=[0.9, 0.95])
    optimizer.init(model.trainable_parameters())
    step = make_step(model, optimizer, args.compile)
    progress = Progress(args.steps)
    for done in range(1, args.steps + 1):
        loss = step(sample_windows(tokens))
        mx.eval(loss, model.state, optimizer.state)
        progress.show(done, f"training loss {loss.item():.3f}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=200, help="training steps (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (%(default)s)")
    parser.add_argument("--compile", action="store_true", help="mx.compile the training step")
    args = parser.parse_args()
    if args.steps < 1:
        parser.error("--steps must be at least 1")
    return args


def main():
    args = parse_arguments()
    mx.random.seed(args.seed)
    training_text, held_out_text = read_library()
    encode = make_encoder(training_text)
    training, held_out = encode(training_text), encode(held_out_text)
    model = CharTransformer()

    entropy = bigram_entropy(held_out)
    before = held_out_loss(model, held_out)
    started = time.monotonic()
    train(model, training, args)
    seconds = time.monotonic() - started
    after = held_out_loss(model, held_out)

    print(f"text                    {training.size:,} characters, {held_out.size:,} held out")
    print(f"trained                 {args.steps} steps in {seconds:.1f} s")
    print(f"held-out loss before    {before:.3f} nats/char")
    print(f"held-out loss after     {after:.3f} nats/char")
    print(f"held-out bigram entropy {entropy:.3f} nats/char")
    if not after < entropy:
        sys.exit(f"error: after {args.steps} steps the loss does not beat the bigram entropy")


if __name__ == "__main__":
    main()

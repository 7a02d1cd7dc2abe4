# SPDX-License-Identifier: Apache-2.0
"""Train the small character transformer of mlx_char_transformer.py on strandline's own arrays.

The same model, written out in operations: rotary positions, causal multi-head attention, layer norm
before each block, AdamW with warm-up and cosine decay. It runs on the host, on the host with
the allocator for unified memory, or on a simulated accelerator, and reports which lines held the
memory at its peak.

The claim, which the exit status answers: after training, the loss on held-out text is lower than
that text's own bigram conditional entropy.
"""

import argparse
import math
import sys
import sysconfig
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import strandline as sl
import strandline.array as sa

VOCABULARY_SIZE = 64  # the most common characters, and one that stands for all others
HELD_OUT_EVERY = 10  # every tenth module is held out
HELD_OUT_CHARS = 4_096  # taken from the middle of each held-out module
MAX_CHARS = 6_000_000  # of the library, read in the order of file names

WIDTH, HEADS, LAYERS = 64, 4, 2
CONTEXT, BATCH = 64, 16  # characters a window, windows a step
PEAK_RATE = 6e-3
BETAS, EPSILON, DECAY = (0.9, 0.95), 1e-8, 0.01


# -- text -----------------------------------------------------------------------------------------


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
    """A function from text to bytes of ids; id 0 is any character outside the vocabulary."""
    common = [char for char, _ in Counter(text).most_common(VOCABULARY_SIZE - 1)]
    ids = {char: index for index, char in enumerate(common, start=1)}
    return lambda text: bytes(ids.get(char, 0) for char in text)


def bigram_entropy(ids):
    """Entropy of a token given the one before it, in nats, by counts from these very tokens."""
    pairs, firsts = Counter(pairwise(ids)), Counter(ids[:-1])
    return -sum(n * math.log(n / firsts[first]) for (first, _), n in pairs.items()) / (len(ids) - 1)


# -- model: functions of a tree of parameters, named as the MLX model's --------------------------


def init_parameters(seed):
    """Weights drawn as MLX's layers draw theirs."""
    sa.random.seed(seed)

    def linear(inputs, outputs):
        bound = inputs**-0.5
        return {"weight": sa.random.uniform(-bound, bound, (outputs, inputs))}

    def norm():
        return {"weight": sa.ones((WIDTH,)), "bias": sa.zeros((WIDTH,))}

    def block():
        return {
            "attention_norm": norm(),
            "attention": {
                "query_key_value": linear(WIDTH, 3 * WIDTH),
                "output": linear(WIDTH, WIDTH),
            },
            "feed_forward_norm": norm(),
            "feed_forward": {
                "expand": linear(WIDTH, 4 * WIDTH),
                "contract": linear(4 * WIDTH, WIDTH),
            },
        }

    embedding = sa.random.normal((VOCABULARY_SIZE, WIDTH), scale=WIDTH**-0.5)
    return {
        "embedding": {"weight": embedding},
        "blocks": [block() for _ in range(LAYERS)],
        "norm": norm(),
        "head": linear(WIDTH, VOCABULARY_SIZE),
    }


def linear(layer, x):
    return x @ layer["weight"].T


def layer_norm(layer, x):
    mean = x.mean(-1, keepdims=True)
    variance = sa.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * sa.rsqrt(variance + 1e-5) * layer["weight"] + layer["bias"]


def rotate(x):
    """Rotary positions: pairs of halves turned by an angle that grows with the position."""
    length, half = x.shape[-2], x.shape[-1] // 2
    frequencies = sa.exp(sa.arange(half, dtype=sa.float32) * (-math.log(10_000) / half))
    angles = sa.arange(length, dtype=sa.float32)[:, None] * frequencies
    cosine, sine = sa.cos(angles), sa.sin(angles)
    first, second = x[..., :half], x[..., half:]
    turned = [first * cosine - second * sine, first * sine + second * cosine]
    return sa.concatenate(turned, -1)


def attention(layer, x):
    batch, length, width = x.shape
    packed = linear(layer["query_key_value"], x).reshape(batch, length, 3, HEADS, -1)
    query, key, value = packed.transpose(2, 0, 3, 1, 4)
    scores = rotate(query) @ rotate(key).transpose(0, 1, 3, 2) * (width // HEADS) ** -0.5
    position = sa.arange(length)
    visible = position[:, None] >= position
    weights = sa.softmax(sa.where(visible, scores, -math.inf), -1)
    mixed = (weights @ value).transpose(0, 2, 1, 3).reshape(batch, length, width)
    return linear(layer["output"], mixed)


def feed_forward(layer, x):
    return linear(layer["contract"], sa.square(sa.maximum(linear(layer["expand"], x), 0.0)))


def forward(parameters, tokens):
    x = parameters["embedding"]["weight"][tokens]
    for block in parameters["blocks"]:
        x = x + attention(block["attention"], layer_norm(block["attention_norm"], x))
        x = x + feed_forward(block["feed_forward"], layer_norm(block["feed_forward_norm"], x))
    return linear(parameters["head"], layer_norm(parameters["norm"], x))


def loss_fn(parameters, window):
    """Mean loss in nats a character; each token of a window is predicted from those before it."""
    logits = forward(parameters, window[:, :-1]).reshape(-1, VOCABULARY_SIZE)
    targets = window[:, 1:].flatten().astype(sa.int32)
    chosen = logits[sa.arange(targets.size), targets]
    return (sa.logsumexp(logits, -1) - chosen).mean()


# -- training -------------------------------------------------------------------------------------


def tree_map(function, tree, *others):
    if isinstance(tree, dict):
        return {key: tree_map(function, tree[key], *(o[key] for o in others)) for key in tree}
    if isinstance(tree, list):
        return [tree_map(function, *branches) for branches in zip(tree, *others, strict=True)]
    return function(tree, *others)


def learning_rate(step, steps):
    """Linear warm-up over the first tenth of the steps, then a cosine down to a twentieth."""
    warm_up = max(1, steps // 10)
    if step < warm_up:
        return PEAK_RATE / warm_up + step * (PEAK_RATE - PEAK_RATE / warm_up) / warm_up
    done = min((step - warm_up) / max(1, steps - warm_up), 1.0)
    return PEAK_RATE / 20 + (PEAK_RATE - PEAK_RATE / 20) * 0.5 * (1 + math.cos(math.pi * done))


class AdamW:
    """As MLX's: decay first, moments without bias correction."""

    def __init__(self, parameters):
        self.first = tree_map(sa.zeros_like, parameters)
        self.second = tree_map(sa.zeros_like, parameters)

    def update(self, parameters, gradients, rate):
        b1, b2 = BETAS
        self.first = tree_map(lambda m, g: b1 * m + (1 - b1) * g, self.first, gradients)
        self.second = tree_map(
            lambda v, g: b2 * v + (1 - b2) * sa.square(g), self.second, gradients
        )
        return tree_map(
            lambda p, m, v: p * (1 - rate * DECAY) - rate * m / (sa.sqrt(v) + EPSILON),
            parameters, self.first, self.second,
        )  # fmt: skip


def make_step(parameters, optimizer, rate):
    """The training step: a function from a batch to its loss and the new parameters."""
    loss_and_grad = sa.value_and_grad(loss_fn)

    def step(window):
        with sl.memory_phase("step"):
            loss, gradients = loss_and_grad(parameters, window)
            updated = optimizer.update(parameters, gradients, rate)
            sa.eval(loss, updated, optimizer.first, optimizer.second)
        return loss, updated

    return step


def sample_windows(tokens):
    """A batch of windows from random places; the token before what is predicted comes with them."""
    starts = sa.random.randint(0, tokens.size - CONTEXT, (BATCH, 1))
    return tokens[starts + sa.arange(CONTEXT + 1)]


def held_out_loss(parameters, tokens):
    """Mean loss over all whole windows of the text; every token but the first is predicted once."""
    starts = sa.arange(0, tokens.size - CONTEXT, CONTEXT)
    total = 0.0
    for first in range(0, len(starts), BATCH):
        windows = tokens[starts[first : first + BATCH, None] + sa.arange(CONTEXT + 1)]
        total += loss_fn(parameters, windows).item() * len(windows)
    return total / len(starts)


def train(parameters, tokens, steps):
    optimizer = AdamW(parameters)
    for done in range(steps):
        step = make_step(parameters, optimizer, learning_rate(done, steps))
        loss, parameters = step(sample_windows(tokens))
        if (done + 1) * 10 // steps > done * 10 // steps:
            print(f"{done + 1}/{steps}  training loss {loss.item():.3f}", file=sys.stderr)
    return parameters


def device_named(name):
    if name == "host":
        return sa.Device()
    device = sl.sim.Device(8 << 30) if name == "sim" else None
    return sa.Device(sl.UnifiedAllocator(device))


class Parser(argparse.ArgumentParser):
    """Answers a wrong argument with one line and status 2."""

    def error(self, message):
        self.exit(2, f"error: {message}\n")


def check_writable(path):
    """Raises OSError for a file that could not be written; leaves it as it is."""
    is_new = not path.exists()
    with path.open("ab"):
        pass
    if is_new:
        path.unlink()


def parse_arguments():
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=200, help="training steps (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (%(default)s)")
    parser.add_argument("--device", choices=["host", "unified", "sim"], default="host")
    parser.add_argument("--snapshot", type=Path, help="also write what was recorded to this file")
    args = parser.parse_args()
    if args.steps < 1:
        parser.error(f"--steps must be at least 1, not {args.steps}")
    if not 0 <= args.seed < 2**64:
        parser.error(f"--seed must be from 0 to {2**64 - 1}, not {args.seed}")
    if args.snapshot:
        try:
            check_writable(args.snapshot)
        except OSError as error:
            parser.error(f"--snapshot {args.snapshot} cannot be written: {error.strerror}")
    return args


def main():
    args = parse_arguments()
    sl.record_memory_events()
    sa.set_default_device(device_named(args.device))
    training_text, held_out_text = read_library()
    encode = make_encoder(training_text)
    training = sa.array(memoryview(encode(training_text)))
    held_out_ids = encode(held_out_text)
    held_out = sa.array(memoryview(held_out_ids))

    parameters = init_parameters(args.seed)
    entropy = bigram_entropy(held_out_ids)
    before = held_out_loss(parameters, held_out)
    started = time.monotonic()
    parameters = train(parameters, training, args.steps)
    seconds = time.monotonic() - started
    after = held_out_loss(parameters, held_out)

    print(sl.memory_report().text())
    if args.snapshot:
        sl.dump_snapshot(args.snapshot)
    print(f"text                    {training.size:,} characters, {held_out.size:,} held out")
    print(f"trained                 {args.steps} steps in {seconds:.1f} s on {args.device}")
    print(f"held-out loss before    {before:.3f} nats/char")
    print(f"held-out loss after     {after:.3f} nats/char")
    print(f"held-out bigram entropy {entropy:.3f} nats/char")
    if not after < entropy:
        sys.exit(f"error: after {args.steps} steps the loss does not beat the bigram entropy")


if __name__ == "__main__":
    main()

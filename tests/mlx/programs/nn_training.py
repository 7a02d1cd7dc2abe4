# SPDX-License-Identifier: Apache-2.0
"""Small trainings: a dense net under every optimiser, convolutions, recurrences, attention."""

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from mlx.utils import tree_flatten, tree_map
from support.results import show

STEPS = 6
x = mx.random.normal((32, 10), key=mx.random.key(1))
y = mx.sin(x[:, :3].sum(axis=1, keepdims=True))

OPTIMIZERS = {
    "sgd": lambda: optim.SGD(0.05, momentum=0.9, weight_decay=1e-3, nesterov=True, dampening=0.0),
    "rmsprop": lambda: optim.RMSprop(1e-2),
    "adagrad": lambda: optim.Adagrad(1e-1),
    "adadelta": lambda: optim.AdaDelta(1.0),
    "adam": lambda: optim.Adam(1e-2, bias_correction=True),
    "adamw": lambda: optim.AdamW(optim.cosine_decay(1e-2, STEPS)),
    "adamax": lambda: optim.Adamax(1e-2),
    "lion": lambda: optim.Lion(1e-3),
    "adafactor": lambda: optim.Adafactor(1e-2, relative_step=False),
    "muon": lambda: optim.Muon(1e-2),
}


def fit(name, model, optimizer, loss_fn, *data):
    """Train for a few steps; print each loss, then the weights and the optimiser's state."""
    mx.eval(model.parameters())
    step = nn.value_and_grad(model, loss_fn)
    for index in range(STEPS):
        loss, gradients = step(model, *data)
        gradients, norm = optim.clip_grad_norm(gradients, 1.0)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state)
        show(f"{name} {index}", [loss, norm])
    show(f"{name} weights", dict(tree_flatten(model.parameters())))
    show(f"{name} state", dict(tree_flatten(optimizer.state)))


def dense():
    for name, make in OPTIMIZERS.items():
        mx.random.seed(2)
        model = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 1))
        fit(
            name,
            model,
            make(),
            lambda m, a, b: nn.losses.huber_loss(m(a), b, reduction="mean"),
            x,
            y,
        )


def convolutions():
    mx.random.seed(3)
    images = mx.random.normal((4, 12, 12, 3), key=mx.random.key(4))
    labels = mx.array([0, 3, 1, 2])
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=4),
        nn.GroupNorm(2, 8),
        nn.SiLU(),
        nn.AvgPool2d(2),
        nn.ConvTranspose2d(8, 4, 3, stride=2),
        nn.Upsample(2.0, mode="linear"),
    )

    def loss(m, a, b):
        return nn.losses.cross_entropy(m(a).mean(axis=(1, 2)), b, reduction="mean")

    fit("convolutions", model, optim.Adam(1e-2), loss, images, labels)
    volume = mx.random.normal((2, 6, 6, 6, 2), key=mx.random.key(5))
    show("1d and 3d", [nn.Conv1d(10, 4, 3)(x[None]), nn.Conv3d(2, 3, 3, stride=2)(volume)])
    show(
        "general",
        mx.conv_general(
            images, mx.ones((4, 2, 2, 3)), padding=1, kernel_dilation=2, input_dilation=2, flip=True
        ),
    )
    show("convolve", mx.convolve(x[0], y[:4, 0], mode="full"))


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.gru, self.lstm = nn.GRU(16, 16), nn.LSTM(16, 16)
        self.encoder = nn.TransformerEncoder(1, 16, 2, mlp_dims=32)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(16, 20)

    def __call__(self, tokens):
        h = self.lstm(self.gru(self.embedding(tokens)))[0]
        mask = nn.MultiHeadAttention.create_additive_causal_mask(tokens.shape[1], h.dtype)
        return self.head(self.dropout(self.encoder(h, mask)))


def sequences():
    mx.random.seed(6)
    tokens = mx.random.randint(0, 20, (3, 9), key=mx.random.key(7))
    model = Sequence()

    def loss(m, t):
        predicted = m(t[:, :-1])
        return nn.losses.cross_entropy(predicted, t[:, 1:], label_smoothing=0.1, reduction="mean")

    fit("sequences", model, optim.AdamW(1e-2), loss, tokens)
    model.eval()
    show("evaluation mode", model(tokens))
    model.freeze(keys=["weight"])
    show("trainable", dict(tree_flatten(model.trainable_parameters())))
    model.update(tree_map(lambda p: p.astype(mx.float16), model.parameters()))
    show("half", model(tokens))


dense()
convolutions()
sequences()

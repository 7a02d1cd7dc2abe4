# SPDX-License-Identifier: Apache-2.0
"""Random numbers: every distribution, by explicit key, by global seed, and after a split."""

import mlx.core as mx
from support.results import show

r = mx.random


def distributions(label, key):
    keys = iter(r.split(key, 16)) if key is not None else iter([None] * 16)
    show(f"uniform {label}", r.uniform(-1, 3, (5, 7), key=next(keys)))
    show(f"normal {label}", r.normal((5, 7), mx.float16, loc=1.0, scale=2.0, key=next(keys)))
    show(f"bfloat16 {label}", r.normal((9,), mx.bfloat16, key=next(keys)))
    show(f"randint {label}", r.randint(-5, 90, (30,), mx.int16, key=next(keys)))
    show(f"bernoulli {label}", r.bernoulli(mx.linspace(0, 1, 20), key=next(keys)))
    show(f"truncated {label}", r.truncated_normal(-1.0, mx.linspace(0.5, 2, 11), key=next(keys)))
    show(f"gumbel {label}", r.gumbel((8,), key=next(keys)))
    show(f"laplace {label}", r.laplace((8,), loc=0.5, key=next(keys)))
    logits = mx.linspace(-1, 1, 12).reshape(3, 4)
    show(f"categorical {label}", r.categorical(logits, num_samples=6, key=next(keys)))
    show(
        f"permutation {label}",
        [r.permutation(17, key=next(keys)), r.permutation(logits, 1, key=next(keys))],
    )
    mean, covariance = mx.zeros(3), mx.eye(3) + 0.25
    show(
        f"multivariate {label}",
        r.multivariate_normal(mean, covariance, [4], key=next(keys), stream=mx.cpu),
    )


distributions("by key", r.key(42))
r.seed(7)
distributions("by seed", None)
r.seed(7)
show("seed again", r.uniform(-1, 3, (5, 7)))
show("split", [r.split(r.key(0)), r.split(r.key(1 << 40), 5)])
show("state", list(mx.random.state))
show("empty", [r.normal((0, 3)), r.uniform(shape=(2, 0))])
show("scalar", [r.normal(key=r.key(3)), r.uniform(key=r.key(4)), r.randint(0, 10, key=r.key(5))])
show("large", r.uniform(shape=(1 << 20,), key=r.key(6)).mean())
show("vmap", mx.vmap(lambda k: r.normal((3,), key=k))(r.split(r.key(8), 4)))


@mx.compile
def noise(x, key):
    return x + r.normal(x.shape, key=key)


show("compiled", [noise(mx.ones((4,)), r.key(i)) for i in range(12)])

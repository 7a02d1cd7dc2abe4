# SPDX-License-Identifier: Apache-2.0
"""Arrays and functions in and out: files, NumPy, DLPack, buffers, pickles, exports."""

import copy
import io
import pickle
import tempfile
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from support.results import show, show_error

x = mx.random.normal((6, 5), key=mx.random.key(1))
ARRAYS = {
    "w": x,
    "strided": x.T[::2],
    "half": x.astype(mx.bfloat16),
    "empty": mx.zeros((0, 3)),
    "one": mx.array(7),
}


def files(folder):
    mx.save(folder / "one.npy", x)
    mx.savez(folder / "many.npz", **{name: a for name, a in ARRAYS.items() if name != "half"})
    mx.savez_compressed(folder / "packed.npz", x, b=x * 2)
    mx.save_safetensors(folder / "many.safetensors", ARRAYS, {"note": "text"})
    show("npy", [mx.load(folder / "one.npy"), mx.array(np.load(folder / "one.npy"))])
    show("npz", [dict(mx.load(folder / "many.npz")), dict(mx.load(folder / "packed.npz"))])
    show("safetensors", mx.load(folder / "many.safetensors", return_metadata=True))
    lazy = mx.load(folder / "many.safetensors")
    w = lazy.pop("w")
    del lazy  # arrays of the file that are never read
    show("one of the file", w + 1)
    with open(folder / "object.npy", "w+b") as stream:
        mx.save(stream, x)
        stream.seek(0)
        show("file object", mx.load(stream))
    show_error("no such file", lambda: mx.load(folder / "none.npy"), hidden=str(folder))
    (folder / "broken.npy").write_bytes(b"\x93NUMPY garbage")
    show_error("broken file", lambda: mx.load(folder / "broken.npy"), hidden=str(folder))


def exchange():
    for dtype in ("float32", "float16", "int8", "uint64", "bool", "complex64"):
        source = (np.arange(12) % 3).astype(dtype).reshape(3, 4)
        show(f"numpy {dtype}", [mx.array(source), mx.array(source.T), mx.array(source[::2, 1:])])
    print(
        "to numpy",
        np.array(x).tobytes().hex()[:48],
        np.asarray(x.T).strides,
        np.array(x, copy=False).sum(),
    )
    view = np.array(x, copy=False)
    y = x + 1
    mx.eval(y)
    print(
        "memoryview", memoryview(y).shape, memoryview(y).format, bytes(memoryview(y[1])).hex()[:32]
    )
    show(
        "from dlpack",
        [mx.from_dlpack(np.arange(6.0, dtype=np.float32)), mx.asarray(np.eye(3, dtype=np.float32))],
    )
    shared = mx.from_dlpack(np.full((1000,), 2.0, np.float32))
    show("computed from foreign memory", [shared * 2, shared[10:20] + 1, (shared + 1).sum()])
    del shared
    print("dlpack out", float(np.from_dlpack(y).sum()).hex(), view.shape)
    show(
        "python",
        [mx.array([[1, 2], [3, 4]]), mx.array([1.5, True]), mx.array((x[0, 0], 2.0)), mx.array([])],
    )
    print(
        "lists",
        x[0].tolist(),
        mx.array([]).tolist(),
        mx.array(2).tolist(),
        float(x[0, 0]),
        len(x),
        bool(x[0, 0]),
    )
    show("copies", [copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))])
    print(
        "text", str(x[:2]).replace("\n", " "), repr(mx.array(1.5)), f"{mx.array(0.25).item():.3f}"
    )


def functions(folder):
    path = str(folder / "function.mlxfn")
    weight = mx.random.normal((5, 3), key=mx.random.key(2))
    mx.export_function(path, lambda a: mx.tanh(a @ weight) + a.sum(), x)
    imported = mx.import_function(path)
    show("imported", [imported(x * i) for i in range(12)])
    show("imported compiled", [mx.compile(lambda a: imported(a)[0] * 2)(x + i) for i in range(3)])
    show("grad of imported", mx.grad(lambda a: imported(a)[0].sum())(x))
    show_error("another shape", lambda: imported(mx.ones((2, 5))))
    mx.export_function(
        path,
        lambda a, *, b: (mx.exp(a) * b, a.sum(axis=0)),
        mx.ones((4, 2)),
        b=x[0, 0],
        shapeless=True,
    )
    show("shapeless", mx.import_function(path)(mx.ones((6, 2)), b=mx.array(2.0)))
    with mx.exporter(path, lambda a: mx.sort(a)) as export:
        export(mx.ones((3,)))
        export(mx.ones((2, 2)))
    several = mx.import_function(path)
    show("several traces", [several(mx.array([3.0, 1.0, 2.0])), several(x[:2, :2])])
    dot = io.StringIO()
    mx.export_to_dot(dot, a=mx.exp(x) + 1)
    print("dot", len(dot.getvalue().splitlines()) > 3)


def modules(folder):
    mx.random.seed(3)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
    model.save_weights(str(folder / "model.npz"))
    other = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
    other.load_weights(str(folder / "model.npz"))
    show("model", [model(x), other(x), mx.array_equal(model(x), other(x))])


with tempfile.TemporaryDirectory() as name:
    files(Path(name))
    exchange()
    functions(Path(name))
    modules(Path(name))

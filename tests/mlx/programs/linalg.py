# SPDX-License-Identifier: Apache-2.0
"""Matrix products and the decompositions of `mx.linalg`, which run on a CPU stream."""

import mlx.core as mx
from support.results import show, show_error

CPU = mx.cpu


def matrices(seed, *shape):
    return mx.random.normal(shape, key=mx.random.key(seed))


def products():
    a, b, c = matrices(1, 16, 24), matrices(2, 24, 8), matrices(3, 16, 8)
    batch = matrices(4, 3, 5, 6)
    show("matmul", [a @ b, a.T @ c, b.T @ a.T, batch @ batch.swapaxes(-1, -2), a[::2] @ b[:, 1:5]])
    show("vectors", [a @ b[:, 0], a[:, 0] @ c, a[0] @ a[1], mx.inner(a, a), mx.outer(a[0], a[1])])
    show("addmm", mx.addmm(c, a, b, alpha=0.5, beta=2.0))
    show(
        "half",
        [
            a.astype(mx.float16) @ b.astype(mx.float16),
            a.astype(mx.bfloat16) @ b.astype(mx.bfloat16),
        ],
    )
    show("empty", [mx.zeros((3, 0)) @ mx.zeros((0, 4)), mx.zeros((0, 3)) @ mx.zeros((3, 2))])
    show("einsum", [mx.einsum("ij,jk->ki", a, b), mx.einsum("bij,bij->b", batch, batch)])
    show(
        "tensordot",
        [mx.tensordot(batch, batch, axes=([0, 1], [0, 1])), mx.kron(a[:2, :2], b[:2, :2])],
    )
    indices = mx.array([0, 2, 1], mx.uint32)
    show(
        "gather_mm",
        mx.gather_mm(batch, batch.swapaxes(-1, -2), indices, mx.array([1, 1, 0], mx.uint32)),
    )
    mask = mx.array([[True, False], [True, True]])
    square = matrices(12, 64, 64)
    show("block_masked_mm", mx.block_masked_mm(square, square.T, 32, mask, mask, None))
    segments = mx.array([[0, 10], [10, 24], [3, 3]], mx.uint32)
    show("segmented_mm", mx.segmented_mm(a, b, segments))
    show("hadamard", mx.hadamard_transform(matrices(5, 4, 16)))


def decompositions():
    a = matrices(6, 3, 6, 6)
    spd = a @ a.swapaxes(-1, -2) + 6 * mx.eye(6)
    la = mx.linalg
    show("qr", [la.qr(matrices(7, 6, 4), stream=CPU), la.qr(a, stream=CPU)])
    show("svd", [la.svd(matrices(8, 5, 3), stream=CPU), la.svd(a, compute_uv=False, stream=CPU)])
    show("eigh", [la.eigh(spd, stream=CPU), la.eigvalsh(spd, "U", stream=CPU)])
    show("eig", [la.eig(a[0], stream=CPU), la.eigvals(a[1], stream=CPU)])
    show("cholesky", [la.cholesky(spd, stream=CPU), la.cholesky(spd, upper=True, stream=CPU)])
    show("inverse", [la.inv(spd, stream=CPU), la.pinv(a[0, :, :3], stream=CPU)])
    factor = la.cholesky(spd, stream=CPU)
    show("triangular", [la.tri_inv(factor, stream=CPU), la.cholesky_inv(factor, stream=CPU)])
    show("lu", [la.lu(a[0], stream=CPU), la.lu_factor(a[1], stream=CPU)])
    rhs = matrices(9, 6, 2)
    show(
        "solve", [la.solve(a[0], rhs, stream=CPU), la.solve_triangular(factor[0], rhs, stream=CPU)]
    )
    show("determinant", [la.det(a, stream=CPU), la.slogdet(a, stream=CPU)])


def norms():
    a = matrices(10, 4, 7)
    for order in (None, "fro", "nuc", 1, -1, 2, float("inf")):
        show(f"norm {order}", mx.linalg.norm(a, order, stream=CPU))
    show(
        "vector norm",
        [mx.linalg.norm(a, 3, axis=1), mx.linalg.norm(a, axis=0), mx.linalg.norm(a[0], 0)],
    )
    show("cross", mx.linalg.cross(a[:, :3], a[:, 3:6]))


def one_output_of_many():
    q, r = mx.linalg.qr(matrices(11, 40, 12), stream=CPU)
    del q  # a sibling that dies unevaluated
    show("r alone", r)
    values = mx.linalg.eigh(mx.eye(5) * mx.arange(5), stream=CPU)[0]
    show("values alone", values)


products()
decompositions()
norms()
one_output_of_many()
show_error("qr of integers", lambda: mx.linalg.qr(mx.ones((2, 2), mx.int32), stream=CPU))
show_error("shapes that do not fit", lambda: mx.ones((2, 3)) @ mx.ones((2, 3)))

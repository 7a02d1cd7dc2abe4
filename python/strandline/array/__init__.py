# SPDX-License-Identifier: Apache-2.0
"""Lazy arrays that carry their line to the byte, on the host and on a simulated accelerator.

::

    import strandline as sl
    import strandline.array as sa

    sl.record_memory_events()
    w = sa.zeros((3, 1))
    loss, grad = sa.value_and_grad(lambda w: (sa.ones((2, 3)) @ w).sum())(w)
    sa.eval(loss, grad)
    print(sl.memory_report().text())

Functions and their meaning follow MLX (NumPy where MLX is silent). Errors read ``[function] what;
got X, expected Y``. Values that are wrong when an array is made raise at once; an index outside of
an axis that is known only when the work runs raises `strandline.DeviceError` when it is waited for.
"""

from .._native.array import (
    Array,
    Dtype,
    Stream,
    abs,
    add,
    arange,
    argmax,
    argmin,
    array,
    asarray,
    astype,
    async_eval,
    broadcast_to,
    ceil,
    clip,
    concatenate,
    contiguous,
    cos,
    divide,
    dtypes,
    equal,
    erf,
    erfinv,
    eval,
    exp,
    expand_dims,
    eye,
    flatten,
    floor,
    floor_divide,
    full,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logsumexp,
    matmul,
    matmul_library,
    max,
    maximum,
    mean,
    min,
    minimum,
    moveaxis,
    multiply,
    negative,
    not_equal,
    ones,
    ones_like,
    pad,
    power,
    prod,
    remainder,
    reshape,
    round,
    rsqrt,
    scatter_add,
    sigmoid,
    sign,
    sin,
    softmax,
    split,
    sqrt,
    square,
    squeeze,
    stack,
    stop_gradient,
    subtract,
    sum,
    swapaxes,
    take,
    tanh,
    transpose,
    var,
    where,
    zeros,
    zeros_like,
)
from . import random
from .devices import (
    Device,
    default_device,
    new_stream,
    set_default_device,
    stream,
    synchronize,
    to_device,
)
from .graph import evaluation_plan, export_to_dot, print_graph
from .transforms import grad, value_and_grad

bool_ = dtypes["bool"]
uint8 = dtypes["uint8"]
uint32 = dtypes["uint32"]
int32 = dtypes["int32"]
int64 = dtypes["int64"]
float16 = dtypes["float16"]
bfloat16 = dtypes["bfloat16"]
float32 = dtypes["float32"]
float64 = dtypes["float64"]

__all__ = [
    "Array", "Device", "Dtype", "Stream", "abs", "add", "arange", "argmax", "argmin", "array",
    "asarray", "astype", "async_eval", "bfloat16", "bool_", "broadcast_to", "ceil", "clip",
    "concatenate", "contiguous", "cos", "default_device", "divide", "equal", "erf", "erfinv",
    "eval", "evaluation_plan", "exp", "expand_dims", "export_to_dot", "eye", "flatten", "float16",
    "float32", "float64", "floor", "floor_divide", "full", "grad", "greater", "greater_equal",
    "int32", "int64", "less", "less_equal", "log", "logaddexp", "logical_and", "logical_not",
    "logical_or", "logsumexp", "matmul", "matmul_library", "max", "maximum", "mean", "min",
    "minimum", "moveaxis", "multiply", "negative", "new_stream", "not_equal", "ones", "ones_like",
    "pad", "power", "print_graph", "prod", "random", "remainder", "reshape", "round", "rsqrt",
    "scatter_add", "set_default_device", "sigmoid", "sign", "sin", "softmax", "split", "sqrt",
    "square", "squeeze", "stack", "stop_gradient", "stream", "subtract", "sum", "swapaxes",
    "synchronize", "take", "tanh", "to_device", "transpose", "uint32", "uint8", "value_and_grad",
    "var", "where", "zeros", "zeros_like",
]  # fmt: skip

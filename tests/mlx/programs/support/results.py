# SPDX-License-Identifier: Apache-2.0
"""How a program prints a result: one line that any change of its value would change.

A line is the name, the shape, the dtype and a digest of the bytes in row-major order; scalars also
show their value. Whatever is not an array is printed as its repr, a list of numbers on one line.
"""

import hashlib

import mlx.core as mx


def show(name, value):
    """Evaluate `value` and print one line for each array in it; containers add to the name."""
    if isinstance(value, mx.array):
        print(f"{name} {describe(value)}", flush=True)
    elif isinstance(value, dict):
        for key in sorted(value):
            show(f"{name}.{key}", value[key])
    elif isinstance(value, (list, tuple)) and not all(
        isinstance(item, (int, float)) for item in value
    ):
        print(f"{name} {type(value).__name__} of {len(value)}", flush=True)
        for index, item in enumerate(value):
            show(f"{name}.{index}", item)
    else:
        print(f"{name} {value!r}", flush=True)


def describe(array):
    mx.eval(array)
    # The buffer protocol has no bfloat16: such values travel as the integers of the same bits.
    exact = mx.view(array, mx.uint16) if array.dtype == mx.bfloat16 else array
    digest = hashlib.sha256(memoryview(exact).tobytes()).hexdigest()[:24]
    scalar = f" {array.item()!r}" if array.ndim == 0 else ""
    return f"{tuple(array.shape)} {str(array.dtype).removeprefix('mlx.core.')} {digest}{scalar}"


def show_error(name, action, hidden="\n"):
    """Call `action` and print the kind and first line of what it raises, less the text `hidden`."""
    try:
        result = action()
        mx.eval(result)  # ignores whatever is not an array
    except Exception as error:  # the kind of error is the result
        message = (str(error).splitlines() or [""])[0].replace(hidden, "")
        print(f"{name} raised {type(error).__name__}: {message}", flush=True)
    else:
        show(f"{name} raised nothing", result)

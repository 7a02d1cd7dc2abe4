# SPDX-License-Identifier: Apache-2.0
"""Every argument of every public function of arrays: a value of a wrong type is answered by a
message that names the function, the argument and what was expected, never by nanobind's list of
overloads. And the messages of indices, dtypes, seeds and operands."""

import ast
import functools
import inspect
import io
import re
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
import strandline as sl  # noqa: E402
import strandline.array as sa  # noqa: E402
from strandline._native import array as native  # noqa: E402


def matrix():
    return sa.ones((2, 2))


# A valid argument by its name; None is left out, for what has a default.
VALID = {
    "a": matrix, "b": matrix, "value": lambda: 1.0, "condition": matrix, "shape": lambda: (2, 2),
    "axis": lambda: 0, "axes": lambda: (1, 0), "dtype": lambda: sa.float32, "n": lambda: 2,
    "m": lambda: 2, "k": lambda: 0, "start": lambda: 0, "stop": lambda: 3, "step": lambda: 1,
    "low": lambda: 0, "high": lambda: 1, "seed": lambda: 1, "key": lambda: sa.random.key(0),
    "num": lambda: 2, "logits": matrix, "loc": lambda: 0.0, "scale": lambda: 1.0,
    "indices": lambda: [0], "updates": lambda: sa.ones((1, 2)), "arrays": lambda: [matrix()],
    "parts": lambda: 2, "widths": lambda: 1, "first": lambda: 0, "second": lambda: 1,
    "source": lambda: 0, "to": lambda: 1, "keepdims": lambda: False, "ddof": lambda: 0,
    "copy": lambda: None, "function": lambda: abs, "argnums": lambda: 0, "argnames": lambda: "x",
    "allocator": lambda: None, "device": lambda: None, "where": sa.default_device,
    "what": lambda: None, "file": lambda: io.StringIO(), "other": matrix,
}  # fmt: skip


class Wrong:
    """Nothing that any function takes."""


WRONG = [Wrong(), "text", {1: 2}, 1j]
#: A text is a name or a path there.
TAKE_TEXTS = {"argnames", "file"}


def stub_functions(path, prefix, native):
    """(function, its name, its parameters): as the stub has them, which nanobind made."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        function = getattr(prefix, node.name, None)
        if function is not None and function is getattr(native, node.name):
            yield function, node.name, [one.arg for one in node.args.args]


def methods():
    """Methods of Array that take arguments, by the name that a user calls."""
    stub = Path(sl.__file__).parent / "_native/array/__init__.pyi"
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Array"]
    for node in found[0].body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            names = [one.arg for one in node.args.args if one.arg != "self"]
            names += [node.args.vararg.arg] if node.args.vararg else []
            yield node.name, names


def cases():
    folder = Path(sl.__file__).parent / "_native/array"
    public = list(stub_functions(folder / "__init__.pyi", sa, native))
    public += list(stub_functions(folder / "random.pyi", sa.random, native.random))
    python = (
        sa.new_stream, sa.set_default_device, sa.stream, sa.synchronize,
        sa.export_to_dot, sa.print_graph, sa.value_and_grad, sa.grad,
    )  # fmt: skip
    public.append((sa.Device, "Device", ["allocator"]))
    for function in python:
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        signature = inspect.signature(function).parameters.values()
        public.append((function, function.__name__, [p.name for p in signature if p.kind in kinds]))
    for function, name, parameters in public:
        for parameter in parameters:
            yield pytest.param(function, name, parameters, parameter, id=f"{name}-{parameter}")


def answer(call):
    """(kind, message) of what a call raises; none for one that does not."""
    try:
        result = call()
        if hasattr(result, "__enter__"):
            with result:
                pass
    except Exception as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize(("function", "name", "parameters", "parameter"), list(cases()))
def test_a_wrong_type_is_answered_by_function_and_argument(function, name, parameters, parameter):
    for wrong in WRONG:
        if isinstance(wrong, str) and parameter in TAKE_TEXTS:
            continue
        given = {one: VALID[one]() for one in parameters}
        given[parameter] = wrong
        found = answer(lambda given=given: function(**given))
        assert found is not None, wrong
        kind, message = found
        called = "value_and_grad" if name == "grad" else name
        assert kind in (TypeError, ValueError), message
        form = rf"\[{called}\] ({parameter}|extent); got .*, expected .*"
        assert re.fullmatch(form, message), message
        assert "incompatible function arguments" not in message


@pytest.mark.parametrize(("name", "parameters"), list(methods()))
def test_methods_answer_as_their_functions_do(name, parameters):
    x = matrix()
    for parameter in parameters:
        for wrong in WRONG:
            positional = [wrong] if parameter in ("shape", "axes") else []
            named = {} if positional else {one: VALID[one]() for one in parameters}
            named |= {} if positional else {parameter: wrong}
            found = answer(functools.partial(getattr(x, name), *positional, **named))
            assert found is not None, (name, parameter, wrong)
            assert re.fullmatch(
                rf"\[{name}\] ({parameter}|extent); got .*, expected .*", found[1]
            ), found


def test_every_public_function_is_documented():
    for module in (sa, sa.random):
        for name in module.__all__:
            made = getattr(module, name)
            if callable(made) and name not in ("Stream",):
                assert (made.__doc__ or "").strip(), name
    for name in ("sum", "mean", "reshape", "item", "tolist", "__dlpack__", "__array__"):
        assert len(getattr(sa.Array, name).__doc__) > 20, name


# -- indices --------------------------------------------------------------------------------------

NO_INDEX = "an integer, a slice, None, ..., or an array of integers"


@pytest.mark.parametrize(
    ("index", "got"),
    [
        (1.0, "1.0 of type float"),
        (True, "True of type bool"),
        ("a", "'a' of type str"),
        (1j, "1j of type complex"),
        (np.float32(1), "an object of type float32"),
        (np.True_, "an object of type bool"),
        (np.array(1.5), "an object of type ndarray"),
        ({1}, "an object of type set"),
    ],
)
def test_what_is_no_index_is_refused_by_its_value(index, got):
    for use in (index, (0, index), (index, ...)):
        with pytest.raises(TypeError) as caught:
            sa.ones((3, 3))[use]
        assert str(caught.value) == f"[index] part; got {got}, expected {NO_INDEX}"


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (lambda: sa.array([0.5]), r"part; got an array of float32, expected an array of integers"),
        ([0.5], r"part; got an array of float32, expected an array of integers"),
        ([True, False, True], r"part; got an array of bool, expected .* masks are not indices"),
        (np.array([True, False, True]), r"part; got an array of bool"),
        (slice(0.5), r"slice's stop; got 0.5 of type float, expected an integer or None"),
        (slice("a", 2), r"slice's start; got 'a' of type str"),
        (slice(None, None, 1.5), r"slice's step; got 1.5 of type float"),
    ],
)
def test_arrays_and_slices_that_are_no_indices_say_why(index, message):
    with pytest.raises(TypeError, match=r"\[index\] " + message):
        sa.ones((3,))[index() if callable(index) else index]


def test_numbers_outside_of_an_axis_are_named_however_large():
    x = sa.ones((3,))
    for number in (3, -4, 2**70, -(2**70)):
        with pytest.raises(IndexError, match=rf"\[index\] number; got {number}, expected -3 to 2"):
            x[number]
    with pytest.raises(ValueError, match=r"\[index\] slice's step; got 0"):
        x[::0]


def test_numpys_integers_and_integer_arrays_are_indices():
    x = sa.array([5.0, 6.0, 7.0])
    assert x[np.int64(1)].item() == x[np.uint8(1)].item() == x[sa.array(1)].item() == 6
    assert x[np.array([2, 0])].tolist() == x[[2, 0]].tolist() == [7, 5]
    assert x[np.array(1)].item() == 6 and x[[]].shape == (0,)
    assert list(range(5))[sa.array(2)] == 2
    with pytest.raises(TypeError, match=r"\[index\] array; got one of float32 and shape \(\)"):
        range(5)[sa.array(2.0)]


# -- numbers beside arrays ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_numbers_of_numpy_have_no_dtype_of_their_own(name):
    x = sa.array([1, 2], dtype=name)
    numbers = [
        True, 2, 2.5, np.True_, np.int64(2), np.uint8(2), np.float16(2), np.float32(2.5),
        np.float64(2.5), np.array(2.5), np.array(2),
    ]  # fmt: skip
    for number in numbers:
        for result in (x + number, sa.multiply(number, x), sa.maximum(x, number)):
            assert result.dtype is getattr(sa, name)


def test_a_float_beside_integers_keeps_its_fraction():
    for number in (1.5, np.float32(1.5), np.float16(1.5), np.float64(1.5), np.array(1.5, "f4")):
        for dtype in (sa.int32, sa.uint8, sa.int64):
            result = sa.array([1, 2], dtype=dtype) + number
            assert result.dtype is sa.float32 and result.tolist() == [2.5, 3.5]
    for number in (2, np.int64(2), np.int32(2)):
        assert (sa.array([1], dtype=sa.uint8) + number).dtype is sa.uint8
        assert (sa.array([True]) + number).dtype is sa.int32


def test_numbers_of_numpy_in_lists_are_numbers():
    assert sa.array([np.int64(1), np.int32(2)]).dtype is sa.int32
    assert sa.array([np.float32(1.5), 2]).tolist() == [1.5, 2]
    assert sa.array([np.True_, False]).dtype is sa.bool_
    assert sa.array(np.float64(1.5)).dtype is sa.float32


@pytest.mark.parametrize("operand", [1j, "s", None, {}, object()])
def test_operators_leave_what_is_no_operand_to_python(operand):
    x = sa.ones((2,))
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Array' and"):
        x + operand
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for -: .* and 'Array'"):
        operand - x
    with pytest.raises(TypeError, match="not supported between instances"):
        bool(x < operand)
    assert (x == operand) is False and (x != operand) is True


def test_a_type_of_its_own_may_answer_for_an_array():
    class Answers:
        def __radd__(self, other):
            return "answered"

    assert sa.ones((2,)) + Answers() == "answered"


def test_integers_past_64_bits_are_named():
    huge = 2**70
    for call in (
        lambda: sa.array(huge), lambda: sa.array([huge]), lambda: sa.ones((2,)) + huge,
        lambda: sa.zeros(huge), lambda: sa.ones((2,)).sum(huge), lambda: sa.full((2,), huge),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"got {huge}, expected an integer of 64 bits"):
            call()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: sa.random.key(-1), ValueError, "[key] seed; got -1, expected an integer from 0"),
        (lambda: sa.random.seed(2**64), ValueError, f"[seed] seed; got {2**64}, expected"),
        (lambda: sa.random.seed("a"), TypeError, "[seed] seed; got 'a' of type str, expected an"),
        (lambda: sa.random.key(1.5), TypeError, "[key] seed; got 1.5 of type float, expected an"),
        (lambda: sa.random.split([0, 1]), TypeError, "[split] key; got an object of type list"),
        (lambda: sa.array(None), TypeError, "[array] value; got None, expected a number"),
        (lambda: sa.array([[1, 2], [3]]), ValueError, "[array] lists; got one of 1 beside one of"),
        (lambda: sa.array([1, None]), TypeError, "[array] element; got None, expected numbers"),
        (lambda: sa.array([1j]), TypeError, "[array] element; got 1j of type complex, expected"),
        (
            lambda: sa.Device("x"),
            TypeError,
            "[Device] allocator; got 'x' of type str, expected a strandline",
        ),
        (lambda: sa.zeros((2,), "float8"), ValueError, "'float8'"),
        (lambda: sa.zeros((2,), np.float32), TypeError, "[zeros] dtype; got an object of type"),
    ],
)
def test_a_wrong_value_is_named(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)
    assert type(caught.value) is kind

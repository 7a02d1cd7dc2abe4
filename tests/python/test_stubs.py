# SPDX-License-Identifier: Apache-2.0
"""The stubs that are checked in are those nanobind makes of the module as it is.

To renew them: python -m nanobind.stubgen -m strandline._native -r --exclude-values -O FOLDER,
copy FOLDER/_native to python/strandline, make format.
"""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import strandline

STUBS = Path(strandline.__file__).parent / "_native"


def shape_of(text):
    """The syntax tree without what a formatter may change."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = inspect.cleandoc(node.value)
    return ast.dump(tree, indent=1)


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    pytest.importorskip("nanobind")
    folder = tmp_path_factory.mktemp("stubs")
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "strandline._native"]
    subprocess.run([*command, "-r", "--exclude-values", "-O", folder], check=True)
    return folder / "_native"


def test_every_stub_is_there_and_none_is_left_over(generated):
    def names(folder):
        return {str(path.relative_to(folder)) for path in folder.rglob("*.pyi")}

    assert names(STUBS) == names(generated)


NAMES = ["__init__.pyi", "memory.pyi", "sim.pyi", "testing.pyi", "array/__init__.pyi"]


@pytest.mark.parametrize("name", [*NAMES, "array/random.pyi"])
def test_a_stub_says_what_the_module_says(generated, name):
    assert shape_of((STUBS / name).read_text()) == shape_of((generated / name).read_text())


def test_every_native_function_is_documented():
    tree = ast.parse((STUBS / "__init__.pyi").read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions and all(ast.get_docstring(node) for node in functions)


def test_the_package_says_that_it_is_typed():
    assert (STUBS.parent / "py.typed").exists()

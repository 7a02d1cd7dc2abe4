# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of the documents are run, those of one page one after another."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "array.md": "numpy",
    "experiments.md": "numpy",
    "settings.md": "strandline",
    "under-mlx.md": "mlx",
}


@pytest.mark.parametrize(("page", "needs"), PAGES.items())
def test_the_python_blocks_of_the_page_run(page, needs, tmp_path):
    pytest.importorskip(needs)
    blocks = re.findall(
        r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL
    )
    assert blocks
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")

# SPDX-License-Identifier: Apache-2.0
"""Programs that use torch, each in a process of its own.

Fast tests run on `stand_in/torch`, which is no torch (its head says what it imitates). Tests marked
`full` run on PyTorch itself with its own caching allocator, over the fake device that
tools/setup_torch.sh prepares in build/torch; they are skipped where that is not there.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import strandline

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

from torch_programs import ORACLE, REAL, RealFolder, TorchFolder  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path) -> TorchFolder:
    return TorchFolder(tmp_path)


@pytest.fixture
def real(tmp_path: Path, our_package: Path) -> RealFolder:
    if not ORACLE.exists():
        pytest.skip("../shared/tools/torch_oracle is not there: no PyTorch without a GPU")
    if not (REAL / "installed").exists():
        pytest.skip("build/torch is not there: tools/setup_torch.sh prepares it")
    made = RealFolder(tmp_path)
    made.packages = [our_package]
    return made


@pytest.fixture(scope="session")
def our_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with strandline alone, for a Python that has packages of its own."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "strandline").symlink_to(Path(strandline.__file__).parent)
    return folder


@pytest.fixture(scope="session")
def mlx_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with MLX alone."""
    folder = tmp_path_factory.mktemp("mlx")
    for path in _packages_of_mlx():
        (folder / path.name).symlink_to(path)
    if not (folder / "mlx").exists():
        pytest.skip("mlx is not installed here")
    return folder


def _packages_of_mlx() -> list[Path]:
    done = subprocess.run(
        [sys.executable, "-c", "import mlx; print(list(mlx.__path__)[0])"],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        return []
    site = Path(done.stdout.strip()).parent
    return [path for path in site.iterdir() if re.match(r"mlx([_-]|$)", path.name)]

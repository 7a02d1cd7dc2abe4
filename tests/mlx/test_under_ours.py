# SPDX-License-Identifier: Apache-2.0
"""The stock MLX on our allocators: same results, MLX's own functions exact, complete snapshots.

What a buffer occupies is written out here once more, as the allocators document it: a slot of 256
bytes up to 256, whole pages above.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))
DEMO = ROOT / "examples" / "mlx_char_transformer.py"
ORACLE = ROOT.parent / "shared" / "tools" / "snapshot_oracle.py"
NAMES = {"host": "HostAllocator", "unified": "UnifiedAllocator"}  # test_segment.py has the third
ALLOCATORS = list(NAMES)
QUICK = {"linalg": "host", "threads": "unified", "memory": "host"}

on_each = pytest.mark.parametrize("allocator", ALLOCATORS)


def occupied(size):
    if size == 0:
        return 0
    return 256 if size <= 256 else (size + 4095) // 4096 * 4096


def _output(command, folder, status=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def _on(allocator, *rest):
    run = [sys.executable, "-m", "strandline", "run", "--allocator", allocator]
    return [*run, "-o", "out.pickle", "--json", "out.json", *rest]


def _without_capacities(text):
    """Lines that tell bytes as MLX's own allocator rounds them, which is not at all, left out."""
    told = re.compile(r"(active|held|peak|peak stays|peak of the small)( |$)")
    return [line for line in text.splitlines() if not told.match(line)]


def _verdict(path):
    if not ORACLE.exists():
        pytest.skip("the oracle of the shared tools is absent")
    spec = importlib.util.spec_from_file_location("snapshot_oracle", ORACLE)
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    return oracle.facts(str(path))["devices"][0]


def _same_on(program, allocator, folder):
    plain, _ = _output([sys.executable, str(program)], folder)
    ours, told = _output(_on(allocator, str(program)), folder)
    assert plain
    assert _without_capacities(ours) == _without_capacities(plain)
    assert f"on {NAMES[allocator]}" in told
    facts = _verdict(folder / "out.pickle")
    assert (facts["verdict"], facts["residual"]) == ("complete", 0)


@pytest.mark.parametrize(("stem", "allocator"), QUICK.items())
def test_a_program_prints_the_same_on_ours(stem, allocator, tmp_path):
    program = next(program for program in PROGRAMS if program.stem == stem)
    _same_on(program, allocator, tmp_path)


@pytest.mark.full
@on_each
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_prints_the_same_on_ours(program, allocator, tmp_path):
    _same_on(program, allocator, tmp_path)


@pytest.mark.full
@on_each
@pytest.mark.parametrize("flags", [[], ["--compile"]], ids=["plain", "compile"])
def test_the_demo_trains_the_same_on_ours(allocator, flags, tmp_path):
    steps = [str(DEMO), "--steps", "20", *flags]
    plain, _ = _output([sys.executable, *steps], tmp_path, status=1)
    ours, _ = _output(_on(allocator, *steps), tmp_path, status=1)
    losses = [
        [float(number) for number in re.findall(r"\d+\.\d+", line)]
        for text in (plain, ours)
        for line in text.splitlines()
        if "loss" in line
    ]
    half = len(losses) // 2
    assert half >= 2
    for theirs, found in zip(losses[:half], losses[half:], strict=True):
        assert found == pytest.approx(theirs, rel=1e-4)
    facts = _verdict(tmp_path / "out.pickle")
    assert (facts["verdict"], facts["residual"]) == ("complete", 0)
    report = json.loads((tmp_path / "out.json").read_text())
    assert f"on {NAMES[allocator]}" in report["run"]["framework"]
    assert report["attributed"]["bytes"] >= 0.99 * report["peak"]["active_bytes"]


@on_each
def test_recorded_bytes_equal_mlx_and_the_allocator_at_every_point(recorded, allocator):
    told = recorded(
        """
        import random
        random.seed(7)
        ours = sl.get_default_allocator()
        points, keep = [], []
        for step in range(60):
            n = random.randrange(1, 200)
            x = mx.random.normal((n, n))
            keep.append(mx.softmax(x @ x.T, axis=-1) + x)
            mx.eval(keep[-1])
            if random.random() < 0.4:
                keep.pop(random.randrange(len(keep)))
            if step == 20:
                mx.clear_cache()
            if step == 30:
                mx.set_cache_limit(100_000)
            mx.synchronize()
            now = ours.statistics()
            blocks = sum(segment["size"] for segment in ours.segments())
            points.append((_native.active_memory(), mx.get_active_memory(), now["active_bytes"],
                           sl.get_active_memory()))
            points.append((blocks, now["reserved_bytes"], now["reserved_bytes"],
                           now["active_bytes"] + now["cached_bytes"]))
        points.append((_native.peak_memory(), mx.get_peak_memory(), sl.get_peak_memory(),
                       ours.statistics()["peak_active_bytes"]))
        tell(points=points, cached=mx.get_cache_memory(), refused=now["refused_frees"],
             unknown=_native.counters()["unknown_binds"],
             reused=now["mallocs"] - now["device_mallocs"])
        """,
        allocator=allocator,
    )
    assert len(told["points"]) == 121
    assert all(len(set(point)) == 1 and point[0] > 0 for point in told["points"])
    assert told["cached"] <= 100_000
    assert told["reused"] > 60
    assert (told["refused"], told["unknown"]) == (0, 0)


@on_each
def test_mlx_functions_answer_by_the_allocator_and_mlx_rules(recorded, allocator):
    told = recorded(
        """
        mx.set_cache_limit(1 << 30)
        sizes = [1, 255, 256, 257, 4096, 4097, 70_000, 0]
        points = []
        for size in sizes:
            before = mx.get_active_memory()
            x = mx.zeros((size,), mx.uint8)
            mx.eval(x)
            mx.synchronize()
            points.append((mx.get_active_memory() - before, mx.get_array_buffer_size(x)))
            del x
            mx.synchronize()
            points.append(mx.get_active_memory() == before)
        cached = mx.get_cache_memory()
        limit = mx.set_cache_limit(5000)
        trimmed = mx.get_cache_memory()
        again = mx.set_cache_limit(limit)
        mx.eval(mx.zeros((9000,), mx.uint8))
        mx.synchronize()
        mx.clear_cache()
        cleared = mx.get_cache_memory()
        mx.reset_peak_memory()
        reset = mx.get_peak_memory()
        kept = mx.zeros((100,), mx.uint8)
        mx.eval(kept)
        memory = mx.get_memory_limit()
        previous = mx.set_memory_limit(12345)
        tell(points=points, cached=cached, trimmed=trimmed, again=again, limit=limit,
             cleared=cleared, reset=reset, peak=mx.get_peak_memory(),
             active=mx.get_active_memory(), memory=memory, previous=previous,
             now=mx.get_memory_limit(), ours=sl.get_memory_limit(),
             default=mx.set_memory_limit(previous))
        """,
        allocator=allocator,
    )
    sizes = [1, 255, 256, 257, 4096, 4097, 70_000, 0]
    assert told["points"][::2] == [[occupied(size), occupied(size)] for size in sizes]
    assert all(told["points"][1::2])
    assert told["cached"] > 5000 >= told["trimmed"]
    assert (told["limit"], told["again"]) == (1 << 30, 5000)
    assert (told["cleared"], told["reset"]) == (0, 0)
    assert told["peak"] >= told["active"] > 0
    assert told["memory"] == told["previous"] > 0
    assert told["now"] == told["ours"] == told["default"] == 12345


def test_the_wired_limit_is_mlx_on_metal_by_the_unified_allocator(recorded):
    told = recorded(
        """
        most = mx.device_info(mx.cpu)["max_recommended_working_set_size"]
        before = mx.set_wired_limit(1 << 20)
        back = mx.set_wired_limit(0)
        try:
            mx.set_wired_limit(most + 10)
        except ValueError as error:
            tell(error=str(error))
        tell(before=before, back=back, most=most, after=mx.set_wired_limit(0))
        """,
        allocator="unified",
    )
    assert (told["before"], told["back"], told["after"]) == (0, 1 << 20, 0)
    assert str(told["most"] + 10) in told["error"]


@on_each
def test_every_payload_lies_at_64_bytes(recorded, allocator):
    np = pytest.importorskip("numpy")
    assert np
    told = recorded(
        """
        import numpy as np
        arrays = [mx.arange(size) * 1 for size in (1, 3, 17, 300, 5000)]
        mx.eval(arrays)
        tell(modulo=[np.array(a, copy=False).__array_interface__["data"][0] % 64 for a in arrays],
             sums=[int(a.sum().item()) for a in arrays])
        """,
        allocator=allocator,
    )
    assert told["modulo"] == [0] * 5
    assert told["sums"] == [sum(range(size)) for size in (1, 3, 17, 300, 5000)]


def test_cpp_callers_of_mlx_see_ours_too(recorded, tmp_path):
    source = tmp_path / "caller.cpp"
    source.write_text(
        "#include <cstddef>\n"
        "namespace mlx::core { std::size_t get_active_memory(); std::size_t get_cache_memory(); }\n"
        'extern "C" std::size_t active() { return mlx::core::get_active_memory(); }\n'
        'extern "C" std::size_t cached() { return mlx::core::get_cache_memory(); }\n'
    )
    library = tmp_path / "caller.so"
    build = ["g++", "-shared", "-fPIC", "-o", str(library), str(source)]
    try:
        subprocess.run(build, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no g++")
    told = recorded(
        """
        import ctypes
        x = mx.zeros((1000,)) + 1
        mx.eval(x)
        mx.synchronize()
        caller = ctypes.CDLL(sys.argv[1])
        caller.active.restype = caller.cached.restype = ctypes.c_size_t
        tell(active=caller.active(), cached=caller.cached(), ours=sl.get_active_memory(),
             ours_cached=sl.get_cache_memory())
        """,
        str(library),
        allocator="host",
    )
    assert told["active"] == told["ours"] > 0
    assert told["cached"] == told["ours_cached"]


FOREIGN = """
#include "mlx/mlx.h"
namespace mx = mlx::core;

extern "C" void* wrapped(void* data, std::size_t bytes) {
  return mx::allocator::make_buffer(data, bytes).ptr();
}

// How often the deleter ran while the array lives, and once more when it is gone; -1 where the
// array follows what is written to the memory afterwards.
extern "C" int deletions(int* data, int count, int* at_the_end) {
  int deleted = 0;
  int while_alive = 0;
  {
    mx::array array(data, {count}, mx::int32, [&](void*) { ++deleted; });
    while_alive = deleted;
    data[0] = 99;
    if (array.data<int>()[0] != 1) while_alive = -1;
  }
  *at_the_end = deleted;
  return while_alive;
}
"""


@pytest.fixture(scope="module")
def foreign_library(tmp_path_factory):
    core = importlib.util.find_spec("mlx")
    mlx = pathlib.Path(next(iter(core.submodule_search_locations)))
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "foreign.cpp").write_text(FOREIGN)
    command = ["g++", "-std=c++20", "-shared", "-fPIC", "-isystem", str(mlx / "include")]
    command += [str(folder / "foreign.cpp"), f"-L{mlx / 'lib'}", "-lmlx"]
    try:
        subprocess.run([*command, f"-Wl,-rpath,{mlx / 'lib'}", "-o", str(folder / "foreign.so")],
                       check=True, capture_output=True)  # fmt: skip
    except FileNotFoundError:
        pytest.skip("no g++")
    return str(folder / "foreign.so")


@pytest.mark.parametrize("allocator", [None, *ALLOCATORS])
def test_foreign_memory_is_copied_as_mlx_does_on_the_cpu(recorded, allocator, foreign_library):
    """make_buffer answers null beneath MLX too: programs rely on the copy."""
    told = recorded(
        """
        import ctypes
        library = ctypes.CDLL(sys.argv[1])
        library.wrapped.restype = ctypes.c_void_p
        pages = (ctypes.c_int * 4096)(*range(1, 4097))
        start = (ctypes.addressof(pages) + 4095) // 4096 * 4096
        null = library.wrapped(ctypes.c_void_p(start), ctypes.c_size_t(4096)) is None
        end = ctypes.c_int()
        alive = library.deletions(pages, 1000, ctypes.byref(end))
        tell(null=null, alive=alive, end=end.value, fault=_native.fault(),
             same=mx.get_active_memory() == _native.active_memory())
        """,
        foreign_library,
        allocator=allocator,
    )
    assert told == {"null": True, "alive": 1, "end": 1, "fault": "", "same": True}


def test_buffers_of_mlx_from_before_go_back_to_mlx(recorded):
    told = recorded("""
        empty = [mx.array([], mx.float32) for _ in range(5)]
        mx.eval(empty)
        strandline.mlx.use_allocator("host")
        x = mx.zeros((1000,)) + 1
        mx.eval(x)
        del empty
        mx.synchronize()
        statistics = sl.get_default_allocator().statistics()
        tell(refused=statistics["refused_frees"], active=mx.get_active_memory(),
             ours=statistics["active_bytes"])
    """)
    assert told["refused"] == 0
    assert told["active"] == told["ours"] > 0


def _python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "import mlx.core as mx\nx = mx.ones(1000)\nmx.eval(x)\nm.use_allocator('host')",
            "[use_allocator] MLX's memory; got 4",
        ),
        (
            "m.use_allocator('host')\nm.use_allocator('unified')",
            "[use_allocator] allocator; got 'UnifiedAllocator', expected the one",
        ),
        ("m.use_allocator('metal')", "[use_allocator] allocator; got 'metal', expected 'host'"),
        ("m.use_allocator(7)", "[use_allocator] allocator; got 7, expected 'host'"),
        (
            "m.use_allocator('host', cache_limit=-1)",
            "cache_limit; got -1, expected an integer from 0",
        ),
        (
            "import strandline as sl\nm.use_allocator(sl.HostAllocator(), cache_limit=1)",
            "[use_allocator] cache_limit; got 1, expected None",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_what_was_expected(code, message):
    done = _python(f"import strandline.mlx as m\n{code}")
    assert done.returncode == 1
    assert message in done.stderr


def test_a_program_that_exceeds_a_simulated_device_fails_cleanly_and_goes_on(recorded):
    told = recorded(
        """
        strandline.mlx.use_allocator(sl.HostAllocator(sl.sim.Device(16 << 20)))
        kept = mx.zeros((1 << 20,)) + 1
        mx.eval(kept)
        try:
            mx.eval(mx.zeros((8 << 20,)) + 1)
        except Exception as error:
            tell(error=f"{type(error).__name__}: {error}")
        mx.eval(kept + 1)
        mx.synchronize()
        tell(sum=kept.sum().item(), ooms=_native.counters()["events"].get("oom", 0),
             active=mx.get_active_memory(), recorded=_native.active_memory())
        """,
    )
    assert "33554432" in told["error"]
    assert told["sum"] == 1 << 20
    assert told["ooms"] >= 1
    assert told["active"] == told["recorded"]


def test_run_shows_the_allocator_and_refuses_what_it_does_not_know(tmp_path):
    for words, message in (
        (["--allocator", "metal"], "invalid choice: 'metal'"),
        (["--allocator", "host", "--without-adapters"], "got 'host' with --without-adapters"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "strandline", "run", *words, "x.py"],
            capture_output=True, text=True, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 2
        assert message in done.stderr
    info, _ = _output([sys.executable, "-m", "strandline", "info"], tmp_path)
    assert re.search(r"^allocator +mlx's own$", info, re.MULTILINE)
    assert re.search(r"^choices +host, unified, segment", info, re.MULTILINE)
    known = "import strandline.mlx as m\nm.use_allocator('unified')\n"
    code = known + "from strandline.info import info\ninfo([])"
    assert re.search(r"^allocator +UnifiedAllocator$", _python(code).stdout, re.MULTILINE)

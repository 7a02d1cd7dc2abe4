# SPDX-License-Identifier: Apache-2.0
"""Columns out of a file: values against the pickle itself, memory shared, every reader of Arrow."""

import gc
import pickle

import pytest
import strandline as sl
from toy_allocator import ToyAllocator, snapshot_of

np = pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def made():
    allocator = ToyAllocator().run(400, 5)
    for index, event in enumerate(allocator.events):
        event["user_metadata"] = f"label {index % 3}" if index % 3 else ""
    return snapshot_of(allocator)


@pytest.fixture
def file(made, tmp_path):
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps(made))
    return sl.Snapshot.load(path)


@pytest.fixture
def trace(made):
    return made["device_traces"][0]


def test_numpy_columns_hold_what_the_file_has(file, trace):
    events = file.table("events")
    assert len(events) == len(trace)
    assert events["address"].tolist() == [e.get("addr", e.get("device_free")) for e in trace]
    assert events["size"].tolist() == [e["size"] for e in trace]
    assert events["event"].tolist() == list(range(len(trace)))
    assert events["stream"].tolist() == [e["stream"] for e in trace]
    assert events["time"].astype("int64").tolist() == [e["time_us"] for e in trace]
    assert events["time"].dtype == np.dtype("datetime64[us]")
    for name, key in (("label", "user_metadata"), ("action", "action")):
        texts = events.texts(name)
        assert [texts[n] for n in events[name]] == [e[key] for e in trace]
    texts = events.texts("pool")
    assert [texts[n] for n in events["pool"]] == ["{}:{}".format(*e["pool_id"]) for e in trace]


def test_columns_are_the_memory_of_the_file_and_outlive_it(file):
    events = file.table("events")
    address = events["address"]
    assert not events.is_copy("address")
    assert np.shares_memory(address, file.table("events")["address"])
    assert not address.flags.writeable
    kept = address.tolist()
    del file, events
    gc.collect()
    assert address.tolist() == kept


def test_stacks_lead_to_frames(file, trace):
    events, stacks, frames = (file.table(name) for name in ("events", "stacks", "frames"))
    functions = frames.texts("function")

    def names(stack):
        found = []
        while stack:
            frame = stacks["frame"][stack - 1]
            found.append((functions[frames["function"][frame - 1]], frames["line"][frame - 1]))
            stack = stacks["parent"][stack - 1]
        return found

    told = [names(stack) for stack in events["stack"]]
    assert told == [[(f["name"], f["line"]) for f in e["frames"]] for e in trace]


def test_blocks_and_segments(file, made):
    blocks, segments = file.table("blocks"), file.table("segments")
    flat = [b for s in made["segments"] for b in s["blocks"]]
    assert blocks["size"].tolist() == [b["size"] for b in flat]
    assert segments["address"].tolist() == [s["address"] for s in made["segments"]]
    kinds = segments.texts("kind")
    assert [kinds[k] for k in segments["kind"]] == [s["segment_type"] for s in made["segments"]]
    owner = [i for i, s in enumerate(made["segments"]) for _ in s["blocks"]]
    assert blocks["segment"].tolist() == owner


def test_names_that_are_none(file):
    with pytest.raises(KeyError):
        file.table("events")["nothing"]
    with pytest.raises(ValueError, match="events"):
        file.table("threads")


def test_a_notebook_shows_a_table(file):
    shown = file.table("events")._repr_html_()
    assert shown.count("<tr>") == 21 and "label 1" in shown and "more rows" in shown


def test_pyarrow_reads_stream_array_and_schema_without_copies(file, trace):
    pa = pytest.importorskip("pyarrow")
    events = file.table("events")
    table = pa.table(events)
    assert table.num_rows == len(trace)
    assert table["action"].to_pylist() == [e["action"] for e in trace]
    assert table["label"].to_pylist() == [e["user_metadata"] for e in trace]
    assert table.schema.field("time").type == pa.timestamp("us", "UTC")
    where = table["address"].chunk(0).buffers()[1].address
    assert where == events["address"].__array_interface__["data"][0]
    batch = pa.record_batch(events)
    assert batch.num_rows == len(trace)
    assert pa.schema(events) == batch.schema
    batch.validate(full=True)
    table.validate(full=True)


def test_what_was_exported_outlives_the_file(file, trace):
    pa = pytest.importorskip("pyarrow")
    table = pa.table(file.table("events"))
    del file
    gc.collect()
    assert table["size"].to_pylist() == [e["size"] for e in trace]


def test_a_capsule_that_nobody_takes_is_released(file):
    events = file.table("events")
    for _ in range(3):
        events.__arrow_c_stream__()
        events.__arrow_c_array__()
        events.__arrow_c_schema__()
    gc.collect()


def test_polars_reads_it(file, trace):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(file.table("events"))
    assert frame["size"].to_list() == [e["size"] for e in trace]
    assert frame["label"].cast(pl.String).to_list() == [e["user_metadata"] for e in trace]


def test_duckdb_queries_it(file, trace):
    duckdb = pytest.importorskip("duckdb")
    events = file.table("events")  # noqa: F841  found by its name
    rows = duckdb.sql(
        "select label, sum(size) from events where action = 'alloc' group by all order by label"
    ).fetchall()
    sums: dict[str, int] = {}
    for event in trace:
        if event["action"] == "alloc":
            label = event["user_metadata"]
            sums[label] = sums.get(label, 0) + event["size"]
    assert rows == sorted(sums.items())


def test_parquet_is_one_step_away(file, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    pq.write_table(pa.table(file.table("events")), tmp_path / "events.parquet")
    again = pq.read_table(tmp_path / "events.parquet")
    assert again["size"].to_pylist() == file.table("events")["size"].tolist()

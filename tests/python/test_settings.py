# SPDX-License-Identifier: Apache-2.0
"""Settings strings from Python. The parser itself is held to PyTorch's in tests/alloc."""

import warnings

import pytest
import strandline as sl

VARIABLES = (
    "STRANDLINE_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def test_values_are_in_the_units_of_the_keys():
    values = sl.parse_settings(
        "max_split_size_mb:64,garbage_collection_threshold:0.5,roundup_power2_divisions:8,"
        "release_lock_on_device_malloc:True"
    )
    assert values["max_split_size_mb"] == 64
    assert values["garbage_collection_threshold"] == 0.5
    assert values["roundup_power2_divisions"] == 8
    assert values["release_lock_on_device_malloc"] is True
    assert values["large_segment_size_mb"] == 20
    assert values["pinned_max_cached_size_mb"] is None
    assert values["backend"] == "native"


def test_the_empty_string_gives_the_defaults():
    assert sl.parse_settings("") == sl.environment_settings()
    assert sl.parse_settings("")["max_split_size_mb"] is None


def test_a_list_is_as_it_would_be_written():
    text = sl.parse_settings("roundup_power2_divisions:[256:2,>:4]")["roundup_power2_divisions"]
    assert text.startswith("[1:2,2:2,") and text.endswith(
        ",256:2,512:4,1024:4,2048:4,4096:4,8192:4,16384:4,32768:4]"
    )
    again = sl.parse_settings(f"roundup_power2_divisions:{text}", as_pytorch=True)
    assert again["roundup_power2_divisions"] == text


def test_pytorch_leaves_gaps_of_a_list_alone():
    text = "roundup_power2_divisions:[1:2,4:4]"
    assert "2:2," in sl.parse_settings(text)["roundup_power2_divisions"]
    assert "2:0," in sl.parse_settings(text, as_pytorch=True)["roundup_power2_divisions"]


def test_an_error_names_key_value_and_position():
    with pytest.raises(ValueError, match="max_split_size_mb at position 18; got '5', expected"):
        sl.parse_settings("max_split_size_mb:5")
    with pytest.raises(ValueError, match="perhaps 'max_split_size_mb'"):
        sl.parse_settings("max_split_size:64")
    with pytest.raises(TypeError, match="text; got 5, expected a str"):
        sl.parse_settings(5)


def test_what_is_doubtful_is_a_warning():
    with pytest.warns(sl.SettingsWarning, match="throw_on_cudamalloc_oom .now throw_on_device"):
        values = sl.parse_settings("throw_on_cudamalloc_oom:True")
    assert values["throw_on_device_malloc_oom"] is True
    with pytest.warns(sl.SettingsWarning, match="nothing of this version acts on"):
        sl.parse_settings("expandable_segments:True")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sl.parse_settings("expandable_segments:False,max_split_size_mb:64")


def test_the_first_variable_that_is_set_is_read(monkeypatch):
    for number, variable in reversed(list(enumerate(VARIABLES, start=100))):
        monkeypatch.setenv(variable, f"max_split_size_mb:{number}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sl.SettingsWarning)
            assert sl.environment_settings()["max_split_size_mb"] == number
    monkeypatch.delenv("STRANDLINE_ALLOC_CONF")
    with pytest.warns(sl.SettingsWarning, match="PYTORCH_ALLOC_CONF is not read"):
        assert sl.environment_settings(as_pytorch=True)["max_split_size_mb"] == 102


def test_an_error_of_a_variable_names_it(monkeypatch):
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:yes")
    with pytest.raises(ValueError, match=r"\[PYTORCH_CUDA_ALLOC_CONF\] expandable_segments at"):
        sl.environment_settings()

// SPDX-License-Identifier: Apache-2.0
// docs/settings.md. What is not in the table of keys stands here in words.
#include <fmt/format.h>

#include "alloc/settings_table.h"
#include "strandline/alloc/settings.h"

namespace strandline::alloc {
namespace {

constexpr std::string_view kHead =
    R"(<!-- Printed from the table in src/alloc/settings_table.cpp. To write it anew:
     STRANDLINE_WRITE_DOCS=1 build/dev/tests/strandline_alloc_tests --gtest_filter='SettingsPage.*' -->
# Settings of the segment allocator

Settings are a string, in a variable when the program starts or given while it runs:

```sh
STRANDLINE_ALLOC_CONF="max_split_size_mb:200, roundup_power2_divisions:[256:2,>:4]" ./program
```

```cpp
#include "strandline/alloc/settings_scope.h"
using namespace strandline;

alloc::configure(allocator, "max_split_size_mb:64");
{
  const alloc::SettingsScope scope(allocator, "max_split_size_mb:200");
  // ... everything else as it was set
}  // 64 again
```

```python
import strandline as sl

sl.parse_settings("max_split_size_mb:64")["max_split_size_mb"]  # 64; ValueError for a bad string
```

## Grammar

`key:value` items divided by `,`. A value is one word, or a list `[word:word,...]`. White space counts for nothing, empty items are allowed, so
that `"$PYTORCH_ALLOC_CONF,max_split_size_mb:64"` is right whether or not there is something before it. Keys and words are written as below,
capitals count. Any key takes `default`, which sets it back. A key given twice has its last value, and a note says so.

A string is taken as a whole or not at all: a bad one leaves every setting as it was. Keys that it does not name keep their values. The error
names the key, the position in the string (bytes from 0), the word that cannot be, and what could:

```
[PYTORCH_ALLOC_CONF] max_split_size_mb at position 18; got '5', expected a whole number of MiB, at least 20 (large_segment_size_mb)
```

## Keys

| key | value | at the start | acts | what it does |
|---|---|---|---|---|
)";

constexpr std::string_view kTail =
    R"(
"no" under *acts*: the value is checked and kept, nothing of this version acts on it, and a note says so.

## Older names

Names without a device's come first. The others are understood, with one note a string that lists them.

| older name | now |
|---|---|
)";

constexpr std::string_view kEnd =
    R"(
`cudaMallocAsync` and `hipMallocAsync` as values of `backend` are `ordered_pools`.

## Variables

The first of these that is set, also to nothing, is read, and the others are not; when another one says something else, a note names it.

1. `STRANDLINE_ALLOC_CONF`
2. `PYTORCH_ALLOC_CONF`
3. `PYTORCH_CUDA_ALLOC_CONF`
4. `PYTORCH_HIP_ALLOC_CONF`

```python
sl.environment_settings()["max_split_size_mb"]  # None: no limit
```

## Where PyTorch's parser differs

With `Decisions::pytorch` a string means what it means to PyTorch 2.15, for replay and comparison:

| | ours | PyTorch |
|---|---|---|
| a bad string | changes nothing | what stands before the error is applied |
| keys not named | stay | `max_split_size_mb`, `max_non_split_rounding_mb`, `garbage_collection_threshold` and `roundup_power2_divisions` return to their defaults, the others stay |
| separators | each where it belongs | any of `,` `:` `[` `]` passes for any other |
| numbers | the whole word | so too with us; PyTorch itself reads `64abc` as 64 |
| empty items | allowed | a leading `,` is an unknown key |
| `default` | sets a key back | is no value |
| `roundup_power2_divisions:0` | multiples of 512 bytes | an error (0 is for lists) |
| intervals between two of a list | as the one before | 0 |
| intervals above the last, without `>` | as the last | 0 |
| a `large_segment_size_mb` above a limit kept from before | an error | not looked at |
| a bad `expandable_segments_reserve` | an error | ignored with a warning |
| `per_process_memory_fraction` while running | acts at once | is read at the start only |
| order of the variables | as above | `PYTORCH_ALLOC_CONF` last |

`roundup_power2_divisions:1` is read alike; that PyTorch then rounds as with 0 is a matter of the allocator (docs/segment-allocator.md).
)";

std::string row_of(const settings::Key& key) {
  const Settings defaults;
  const std::string start = settings::printed(settings::value_of(key, defaults));
  const bool is_limit = std::holds_alternative<settings::Mebibytes>(key.kind);
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name,
                     settings::expected_value(key, Settings::kLargeSegmentBytes >> 20),
                     start == "default" ? (is_limit ? "none" : "not given") : start,
                     key.effect == settings::Effect::acts ? "yes" : "no", key.meaning);
}

}  // namespace

std::string settings_page() {
  std::string page(kHead);
  for (const settings::Key& key : settings::keys()) page += row_of(key);
  page += kTail;
  for (const settings::Key& key : settings::keys()) {
    for (const std::string_view older : key.older) {
      if (!older.empty()) page += fmt::format("| `{}` | `{}` |\n", older, key.name);
    }
  }
  return page += kEnd;
}

}  // namespace strandline::alloc

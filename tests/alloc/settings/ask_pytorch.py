# SPDX-License-Identifier: Apache-2.0
"""Asks PyTorch's own parser about settings strings and prints its answers, one JSON object a line.

    ../shared/tools/torch_oracle/run.sh DIR tests/alloc/settings/ask_pytorch.py > \
        tests/alloc/settings/pytorch_answers.jsonl

The first line says which PyTorch. Then `text`, `error` (absent where it was accepted) and
`settings`, what the snapshot says is set afterwards: state is kept from line to line, as in a
process. settings_pytorch_test.cpp holds ours with PyTorch's rules to these answers.
"""

import json

import torch

TEXTS = """

max_split_size_mb:64
max_split_size_mb:20
max_split_size_mb:19
garbage_collection_threshold:0.6
garbage_collection_threshold:0
garbage_collection_threshold:1
garbage_collection_threshold:1.0
garbage_collection_threshold:1e-3
garbage_collection_threshold:-0.5
garbage_collection_threshold:nan
garbage_collection_threshold:x
max_split_size_mb:64,garbage_collection_threshold:0.5
max_split_size_mb : 6 4 , garbage_collection_threshold:\t0.25
max_split_size_mb:64,
,max_split_size_mb:64
,
max_split_size_mb
max_split_size_mb:
max_split_size_mb:abc
max_split_size_mb:64abc
max_split_size_mb:20.5
max_split_size_mb:18446744073709551615
max_split_size_mb:18446744073709551616
max_split_size_mb,64
max_split_size_mb:64:garbage_collection_threshold:0.5
max_split_size_mb:64]garbage_collection_threshold[0.5
max_split_size_mb 64
max_split_size_mb:64,max_split_size_mb:128
max_split_size_mb:64,max_split_size_mb:5
garbage_collection_threshold:0.5,no_such_key:1,max_split_size_mb:64
MAX_SPLIT_SIZE_MB:64
roundup_power2_divisions:0
roundup_power2_divisions:1
roundup_power2_divisions:8
roundup_power2_divisions:3
roundup_power2_divisions:65536
roundup_power2_divisions:[256:2]
roundup_power2_divisions:[256:2,>:4]
roundup_power2_divisions:[>:4]
roundup_power2_divisions:[>:4,256:2]
roundup_power2_divisions:[256:2,512:0,>:8]
roundup_power2_divisions:[256:2,1024:8]
roundup_power2_divisions:[1024:8,256:2]
roundup_power2_divisions:[256:2,256:4]
roundup_power2_divisions:[32768:4,>:8]
roundup_power2_divisions:[65536:4]
roundup_power2_divisions:[3:4]
roundup_power2_divisions:[0:4]
roundup_power2_divisions:[256:3]
roundup_power2_divisions:[256:2,16:x]
roundup_power2_divisions:[256:2
roundup_power2_divisions:[256:2,
roundup_power2_divisions:[256
roundup_power2_divisions:[
roundup_power2_divisions:[]
roundup_power2_divisions:[256:2,]
roundup_power2_divisions:[256:2]:max_split_size_mb:64
roundup_power2_divisions:[256:2;512:4]
expandable_segments:True
expandable_segments:False
expandable_segments:true
expandable_segments:1
expandable_segments:True,expandable_segments:False
graph_capture_record_stream_reuse:True
graph_capture_record_stream_reuse:False
release_lock_on_cudamalloc:True
release_lock_on_cudamalloc:False
release_lock_on_hipmalloc:True
throw_on_cudamalloc_oom:True
throw_on_cudamalloc_oom:False
per_process_memory_fraction:0.5
per_process_memory_fraction:0
per_process_memory_fraction:1
per_process_memory_fraction:1.5
per_process_memory_fraction:-0.1
pinned_use_cuda_host_register:True
pinned_use_cuda_host_register:False
pinned_use_hip_host_register:True
pinned_num_register_threads:8
pinned_num_register_threads:128
pinned_num_register_threads:256
pinned_num_register_threads:3
pinned_num_register_threads:0
pinned_num_register_threads:1
pinned_use_background_threads:True
pinned_use_background_threads:False
pinned_reserve_segment_size_mb:16
pinned_reserve_segment_size_mb:0
pinned_free_catch_all:True
pinned_free_catch_all:False
pinned_max_round_threshold_mb:64
pinned_max_round_threshold_mb:0
pinned_max_cached_size_mb:64
pinned_max_cached_size_mb:0
expandable_segments_reserve:0.5
expandable_segments_reserve:40G
expandable_segments_reserve:40g
expandable_segments_reserve:x
expandable_segments_reserve:0
expandable_segments_reserve_by_class:[a:0.5,b:2G]
expandable_segments_reserve_by_class:[a:x,b:2G]
backend:native
backend:cudaMallocAsync
backend:unknown
max_non_split_rounding_mb:64
max_non_split_rounding_mb:19
max_split_size_mb:100
large_segment_size_mb:10
large_segment_size_mb:11
max_split_size_mb:64
max_split_size_mb:32,garbage_collection_threshold:0.6,large_segment_size_mb:64
max_split_size_mb:20
max_non_split_rounding_mb:32
large_segment_size_mb:x
large_segment_size_mb
large_segment_size_mb:20
""".split("\n")[1:-1]


def answer(text):
    line = {"text": text}
    try:
        torch._C._accelerator_setAllocatorSettings(text)
    except (RuntimeError, ValueError, IndexError) as error:
        line["error"] = str(error).split("\n")[0]
    line["settings"] = torch.cuda.memory._snapshot()["allocator_settings"]
    return line


def main():
    torch.cuda.init()
    print(json.dumps({"pytorch": torch.__version__}))
    for text in TEXTS:
        print(json.dumps(answer(text)))


main()

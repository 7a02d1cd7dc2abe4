// SPDX-License-Identifier: Apache-2.0
// The contract: what malloc, free, size, raw_ptr and the wrapping of foreign memory do.
#include <algorithm>
#include <map>

#include "alloc/contract/contract.h"
#include "strandline/alloc/device_buffer.h"

namespace strandline::alloc {
namespace {

using device::FreeStatus;

class AllocatorMemory : public AllocatorContract {};
INSTANTIATE_TEST_SUITE_P(Contract, AllocatorMemory, testing::ValuesIn(all_subjects()),
                         subject_name);

const std::vector<std::uint64_t> kSizes = {1,    4,    64,      255,   256,   257,          1000,
                                           4095, 4096, 4097,    16384, 16385, 65536,        100'000,
                                           4,    4096, 1 << 20, 255,   256,   (1 << 20) + 1};

TEST_P(AllocatorMemory, buffers_hold_what_was_asked_for_and_do_not_overlap) {
  if (!host_reads()) GTEST_SKIP() << "the host does not reach this memory";
  std::vector<Buffer> buffers;
  std::map<device::Address, std::uint64_t> spans;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const Buffer buffer = allocator().malloc(kSizes[i]);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer.allocator(), &allocator());
    EXPECT_EQ(buffer.address() % 64, 0u);
    EXPECT_GE(allocator().size(buffer), kSizes[i]);
    EXPECT_TRUE(spans.emplace(buffer.address(), allocator().size(buffer)).second);
    std::memset(buffer.raw_ptr(), static_cast<int>(i + 1), allocator().size(buffer));
    buffers.push_back(buffer);
  }
  device::Address end = 0;
  for (const auto& [address, size] : spans) {
    EXPECT_GE(address, end);
    end = address + size;
  }
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const std::uint8_t* bytes = bytes_of(buffers[i]);
    EXPECT_TRUE(std::all_of(bytes, bytes + allocator().size(buffers[i]), [&](std::uint8_t byte) {
      return byte == i + 1;
    })) << kSizes[i];
  }
  allocator().validate();
  free_all(buffers);
  EXPECT_EQ(now().active_bytes, 0u);
}

TEST_P(AllocatorMemory, no_bytes_are_no_memory) {
  const Buffer nothing = allocator().malloc(0);
  EXPECT_FALSE(nothing);
  EXPECT_EQ(nothing.ptr(), nullptr);
  EXPECT_EQ(nothing.raw_ptr(), nullptr);
  EXPECT_EQ(allocator().size(nothing), 0u);
  EXPECT_EQ(allocator().try_free(nothing), FreeStatus::freed);
  EXPECT_EQ(allocator().release(nothing), FreeStatus::freed);
  EXPECT_EQ(now(), Statistics{});
}

TEST_P(AllocatorMemory, payloads_have_the_alignment_asked_for) {
  std::vector<Buffer> buffers;
  const std::uint64_t largest = std::min<std::uint64_t>(facts().max_alignment, 1 << 21);
  for (std::uint64_t alignment = 1; alignment <= largest; alignment *= 2) {
    for (const std::uint64_t bytes : std::initializer_list<std::uint64_t>{1, 300, 5000}) {
      buffers.push_back(allocator().malloc(bytes, {.alignment = alignment}));
      EXPECT_EQ(buffers.back().address() % alignment, 0u);
    }
  }
  free_all(buffers);
  for (std::uint64_t alignment = 1; alignment <= largest; alignment *= 2) {
    buffers.push_back(allocator().malloc(5000, {.alignment = alignment}));
    EXPECT_EQ(buffers.back().address() % alignment, 0u) << "reused";
  }
  free_all(buffers);
}

TEST_P(AllocatorMemory, what_was_freed_serves_the_next_of_its_size_without_the_device) {
  for (const std::uint64_t bytes : kSizes) allocator().free(allocator().malloc(bytes));
  const std::uint64_t calls = device().counts().of(device::Call::allocate);
  const std::uint64_t mallocs = now().device_mallocs;
  for (int round = 0; round < 10; ++round) {
    for (const std::uint64_t bytes : kSizes) allocator().free(allocator().malloc(bytes));
  }
  EXPECT_EQ(device().counts().of(device::Call::allocate), calls);
  EXPECT_EQ(now().device_mallocs, mallocs);
}

TEST_P(AllocatorMemory, a_gibibyte_can_be_had_a_hundred_times) {
  for (int i = 0; i < 100; ++i) allocator().free(allocator().malloc(std::uint64_t{1} << 30));
  EXPECT_EQ(now().active_bytes, 0u);
}

TEST_P(AllocatorMemory, a_free_of_what_is_not_out_changes_nothing_and_is_counted) {
  const Buffer buffer = allocator().malloc(5000);
  const Buffer small = allocator().malloc(10);
  const Statistics before = now();
  int foreign = 0;
  const auto shifted = [](Buffer of, std::size_t by) {
    return Buffer(static_cast<const std::byte*>(of.ptr()) + by, of.allocator());
  };
  EXPECT_EQ(allocator().try_free(Buffer(&foreign, &allocator())), FreeStatus::unknown);
  EXPECT_EQ(allocator().try_free(shifted(buffer, 64)), FreeStatus::unknown);
  EXPECT_EQ(allocator().try_free(shifted(small, 4)), FreeStatus::unknown);
  EXPECT_EQ(allocator().try_free(Buffer(buffer.ptr(), nullptr)), FreeStatus::unknown);
  EXPECT_EQ(allocator().release(buffer), FreeStatus::unknown) << "it was not wrapped";
  Statistics after = now();
  EXPECT_EQ(after.refused_frees, before.refused_frees + 5);
  after.refused_frees = before.refused_frees;
  EXPECT_EQ(after, before);
  EXPECT_EQ(allocator().try_free(buffer), FreeStatus::freed);
  EXPECT_EQ(allocator().try_free(buffer), FreeStatus::unknown) << "freed twice";
  EXPECT_EQ(allocator().try_free(small), FreeStatus::freed);
  EXPECT_EQ(allocator().try_free(small), FreeStatus::unknown) << "freed twice";
}

TEST_P(AllocatorMemory, questions_about_unknown_buffers_are_errors_that_name_them) {
  int foreign = 0;
  const Buffer unknown(&foreign, &allocator());
  const std::string expected = testing::PrintToString(&foreign);
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)allocator().size(unknown); }),
              testing::HasSubstr("handed out"));
  EXPECT_THROW((void)allocator().slice(unknown), InvalidArgument);
  EXPECT_THROW((void)unknown.raw_ptr(), InvalidArgument);
  EXPECT_THROW(allocator().note_write(unknown, streams().default_stream()), InvalidArgument);
  const Buffer freed = allocator().malloc(5000);
  allocator().free(freed);
  EXPECT_THROW((void)allocator().size(freed), InvalidArgument);
}

TEST_P(AllocatorMemory, buffers_of_another_allocator_are_unknown) {
  const std::unique_ptr<Allocator> other = GetParam().make(device());
  const Buffer theirs = other->malloc(5000);
  EXPECT_EQ(allocator().try_free(theirs), FreeStatus::unknown);
  EXPECT_THROW((void)allocator().size(theirs), InvalidArgument);
  EXPECT_EQ(other->try_free(theirs), FreeStatus::freed);
}

TEST_P(AllocatorMemory, alignments_that_cannot_be_had_are_errors) {
  for (const std::uint64_t alignment :
       {std::uint64_t{3}, std::uint64_t{48}, facts().max_alignment * 2, std::uint64_t{1} << 63}) {
    EXPECT_THAT(
        message_of<InvalidArgument>([&] { (void)allocator().malloc(8, {.alignment = alignment}); }),
        testing::HasSubstr(std::to_string(alignment)));
  }
  EXPECT_EQ(now().mallocs, 0u);
}

TEST_P(AllocatorMemory, sizes_past_the_device_are_out_of_memory_and_cost_nothing) {
  allocator().free(allocator().malloc(5000));
  const std::uint64_t cached = now().cached_bytes;
  for (const std::uint64_t bytes :
       {facts().max_allocation_bytes + 1, std::uint64_t{1} << 63, UINT64_MAX}) {
    const auto error = error_of<OutOfMemory>([&] { (void)allocator().malloc(bytes); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->requested, bytes);
    EXPECT_THAT(error->what(), testing::HasSubstr(std::to_string(bytes)));
  }
  EXPECT_EQ(now().cached_bytes, cached);
  EXPECT_EQ(now().out_of_memory, 3u);
  EXPECT_EQ(now().mallocs, 1u);
}

TEST_P(AllocatorMemory, streams_that_are_not_the_devices_are_errors) {
  const std::unique_ptr<device::Device> elsewhere = device::make_host_device();
  const StreamId foreign = elsewhere->streams().create();
  for (const StreamId stream : {StreamId{4'000'000'000u}, foreign}) {
    if (stream == foreign && machine() != nullptr) continue;  // numbers of machines are their own
    EXPECT_THAT(message_of<InvalidArgument>([&] {
                  (void)allocator().malloc(8, {0, stream});
                }),
                testing::HasSubstr(std::to_string(stream.value)));
  }
  const StreamId ours = streams().create();
  allocator().free(allocator().malloc(8, {.stream = ours}));
  EXPECT_EQ(now().mallocs, 1u);
}

// -- the host's view ------------------------------------------------------------------------------

TEST_P(AllocatorMemory, raw_ptr_waits_for_the_work_of_the_buffers_stream_and_ptr_does_not) {
  if (!host_reads()) GTEST_SKIP() << "the host does not reach this memory";
  const StreamId stream = streams().create();
  const Buffer buffer = allocator().malloc(5000, {.stream = stream});
  streams().fill(stream, allocator().slice(buffer), std::byte{7});
  (void)buffer.ptr();
  if (machine() != nullptr) {
    EXPECT_EQ(machine()->pending(stream), 1u);
  }
  const std::uint8_t* bytes = bytes_of(buffer);
  EXPECT_TRUE(std::all_of(bytes, bytes + 5000, [](std::uint8_t byte) { return byte == 7; }));
  if (machine() != nullptr) {
    EXPECT_EQ(machine()->pending(stream), 0u);
  }
  allocator().free(buffer);
}

TEST_P(AllocatorMemory, raw_ptr_waits_for_writers_that_were_said) {
  if (!host_reads()) GTEST_SKIP() << "the host does not reach this memory";
  const StreamId first = streams().create();
  const StreamId second = streams().create();
  const Buffer buffer = allocator().malloc(4, {.stream = first});
  allocator().note_write(buffer, second);
  streams().fill(second, allocator().slice(buffer), std::byte{9});
  EXPECT_EQ(*bytes_of(buffer), 9);
  allocator().free(buffer);
  // The next owner of the bytes has nothing to do with that stream.
  const Buffer next = allocator().malloc(4, {.stream = first});
  EXPECT_EQ(next.ptr(), buffer.ptr());
  streams().fill(second, allocator().slice(next), std::byte{1});
  (void)next.raw_ptr();
  if (machine() != nullptr) {
    EXPECT_EQ(machine()->pending(second), 1u);
  }
  streams().wait(second);
  allocator().free(next);
}

TEST_P(AllocatorMemory, raw_ptr_reports_work_that_failed_once) {
  if (!host_reads()) GTEST_SKIP() << "the host does not reach this memory";
  const StreamId stream = streams().create();
  const Buffer buffer = allocator().malloc(4, {.stream = stream});
  streams().enqueue(stream, {.name = "broken", .accesses = {}, .binds = {}, .body = [] {
                               throw std::runtime_error("broke");
                             }});
  EXPECT_THAT(message_of<DeviceError>([&] { (void)buffer.raw_ptr(); }),
              testing::HasSubstr("broken"));
  EXPECT_NO_THROW((void)buffer.raw_ptr());
  streams().destroy(stream);
  EXPECT_NO_THROW((void)buffer.raw_ptr()) << "a stream that ended has nothing to wait for";
  allocator().free(buffer);
}

TEST_P(AllocatorMemory, host_tasks_of_the_device_may_free) {
  const StreamId stream = streams().create();
  std::vector<Buffer> buffers;
  for (int i = 0; i < 20; ++i) buffers.push_back(allocator().malloc(10'000));
  allocator().set_cache_limit(0);  // frees reach the device, which may wait for the very stream
  for (const Buffer buffer : buffers) {
    streams().enqueue_host_task(stream, "free", [this, buffer] { allocator().free(buffer); });
  }
  const Buffer last = allocator().malloc(10'000);
  allocator().free(last);
  streams().wait(stream);
  EXPECT_EQ(now().active_bytes, 0u);
  EXPECT_EQ(now().cached_bytes, now().spare_bytes);
}

// -- foreign memory -------------------------------------------------------------------------------

class Foreign {
 public:
  explicit Foreign(std::uint64_t bytes) : memory_(std::aligned_alloc(65536, bytes)) {
    std::memset(memory_, 0x5A, bytes);
  }
  ~Foreign() { std::free(memory_); }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  std::byte* bytes() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_;
};

TEST_P(AllocatorMemory, foreign_memory_is_wrapped_counted_and_never_reused) {
  if (!facts().supports.no_copy_buffers) GTEST_SKIP() << "the device wraps nothing";
  const Foreign foreign(65536);
  const Buffer wrapped = allocator().make_buffer(foreign.bytes(), 65536);
  EXPECT_EQ(wrapped.ptr(), foreign.bytes());
  EXPECT_EQ(wrapped.raw_ptr(), foreign.bytes());
  EXPECT_EQ(allocator().size(wrapped), 65536u);
  EXPECT_TRUE(allocator().slice(wrapped).buffer);
  EXPECT_EQ(now().active_bytes, 65536u);
  EXPECT_EQ(now().reserved_bytes, 65536u);
  EXPECT_EQ(now().buffer_count, 1u);
  EXPECT_EQ(allocator().try_free(wrapped), FreeStatus::unknown) << "it is released, not freed";
  allocator().validate();
  EXPECT_EQ(allocator().release(wrapped), FreeStatus::freed);
  EXPECT_EQ(allocator().release(wrapped), FreeStatus::unknown);
  EXPECT_EQ(now().reserved_bytes, 0u);
  EXPECT_EQ(foreign.bytes()[65535], std::byte{0x5A});
  const Buffer again = allocator().make_buffer(foreign.bytes(), 65536);
  EXPECT_EQ(allocator().release(again), FreeStatus::freed);
}

TEST_P(AllocatorMemory, foreign_memory_that_cannot_be_wrapped_is_an_error_that_says_why) {
  if (!facts().supports.no_copy_buffers) GTEST_SKIP() << "the device wraps nothing";
  const Foreign foreign(2 * 65536);
  const auto wrap = [&](void* memory, std::uint64_t bytes) {
    return message_of<InvalidArgument>([&] { (void)allocator().make_buffer(memory, bytes); });
  };
  EXPECT_THAT(wrap(nullptr, 65536), testing::HasSubstr("null"));
  EXPECT_THAT(wrap(foreign.bytes(), 0), testing::HasSubstr("0 bytes"));
  EXPECT_THAT(wrap(foreign.bytes(), UINT64_MAX - 4095), testing::HasSubstr("2^64"));
  const Buffer wrapped = allocator().make_buffer(foreign.bytes(), 65536);
  EXPECT_THAT(wrap(foreign.bytes(), 65536), testing::HasSubstr("wrapped before"));
  const Buffer own = allocator().malloc(65536);
  EXPECT_THAT(wrap(own.ptr(), 65536), testing::HasSubstr("own"));
  if (facts().no_copy_alignment > 1) {
    EXPECT_THAT(wrap(foreign.bytes() + 65537, 4096),
                testing::HasSubstr(std::to_string(facts().no_copy_alignment)));
    EXPECT_THAT(wrap(foreign.bytes() + 65536, 100), testing::HasSubstr("100 bytes"));
    EXPECT_FALSE(allocator().try_make_buffer(foreign.bytes() + 65537, 4096));
  }
  EXPECT_EQ(now().allocated_count, 2u);
  allocator().release(wrapped);
  allocator().free(own);
}

// -- ownership ------------------------------------------------------------------------------------

TEST_P(AllocatorMemory, an_owning_buffer_frees_once_wherever_it_moved) {
  {
    DeviceBuffer buffer(allocator(), 5000);
    EXPECT_EQ(buffer.bytes(), 5000u);
    DeviceBuffer moved(std::move(buffer));
    EXPECT_FALSE(buffer);  // NOLINT(bugprone-use-after-move): moved from is empty, by contract
    DeviceBuffer assigned(allocator(), 100);
    assigned = std::move(moved);
    EXPECT_EQ(now().allocated_count, 1u);
    const Buffer taken = assigned.take();
    EXPECT_FALSE(assigned);
    allocator().free(taken);
    DeviceBuffer nothing(allocator(), 0);
    EXPECT_FALSE(nothing);
  }
  EXPECT_EQ(now().allocated_count, 0u);
  EXPECT_EQ(now().refused_frees, 0u);
  if (!facts().supports.no_copy_buffers) return;
  const Foreign foreign(65536);
  {
    const DeviceBuffer wrapped = DeviceBuffer::wrap(allocator(), foreign.bytes(), 65536);
    EXPECT_EQ(wrapped.raw_ptr(), foreign.bytes());
  }
  EXPECT_EQ(now().allocated_count, 0u);
  EXPECT_EQ(now().refused_frees, 0u);
}

TEST_P(AllocatorMemory, an_allocator_that_ends_gives_back_what_is_still_out) {
  const Foreign foreign(65536);
  (void)allocator().malloc(5000);
  (void)allocator().malloc(5);
  if (facts().supports.no_copy_buffers) (void)allocator().make_buffer(foreign.bytes(), 65536);
  end_allocator();  // the fixture asks the device
}

}  // namespace
}  // namespace strandline::alloc

// SPDX-License-Identifier: Apache-2.0
// The sink: resolves what it is brought, gathers it as columns, writes chunks.
#include "strandline/snapshot/native_stream.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>

#include <fmt/format.h>

#include "snapshot/cut_reader.h"
#include "snapshot/native_tables.h"
#include "snapshot/stream_output.h"
#include "strandline/core/error.h"

namespace strandline::snapshot {
namespace {

using namespace native;
using SteadyClock = std::chrono::steady_clock;

}  // namespace

class NativeStream::Core {
 public:
  Core(record::Recorder& recorder, const std::string& path, const NativeStreamOptions& options)
      : recorder_(recorder),
        options_(options),
        output_(path),
        chunks_(output_, options.level),
        resolver_(recorder.tables(), tables_),
        anchor_(clock_anchor()) {}

  /// Head and first state; events come as soon as the sink is known, and are held back.
  void begin(const std::shared_ptr<NativeStream>& sink) {
    recorder_.add_sink(sink);
    record::Cut cut = recorder_.cut(record::Recorder::Events::none);
    const std::lock_guard<std::mutex> guard(mutex_);
    try {
      chunks_.write_file_head();
      write_state_of(cut);
      output_.publish();
      append_held(UINT64_MAX);
      holds_back_ = false;
    } catch (...) {
      has_failed_ = true;
      throw;
    }
  }

  void write(std::uint64_t first_sequence, std::span<const record::Event> events) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (is_done()) return;
    if (holds_back_) {
      held_.emplace_back(first_sequence, std::vector<record::Event>(events.begin(), events.end()));
      return;
    }
    guarded_by_failure([&] { append(first_sequence, events); });
  }

  /// Also while events are held back: the state that is written then tells of phases anew.
  void write_phases(std::span<const record::Phase> phases) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (is_done()) return;
    guarded_by_failure([&] {
      const ClockConversion clock(anchor_, clock_anchor());
      for (const record::Phase& phase : phases) {
        note_oldest();
        const PhaseRow row = row_of(phase, clock);
        cursor_.need(row);
        phase_rows_.add(row);
      }
    });
  }

  void tick() {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (is_done() || holds_back_) return;
    guarded_by_failure([&] {
      const bool has_something = !rows_.empty() || !phase_rows_.empty();
      if (has_something &&
          SteadyClock::now() - oldest_ >= std::chrono::milliseconds(options_.most_wait_ms)) {
        flush();
      }
    });
  }

  bool close(const NativeStream* sink) noexcept {
    if (!output_.is_ours()) return false;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (is_closed_ || std::exchange(is_closing_, true)) return !has_failed_;
      holds_back_ = true;
    }
    try {
      recorder_.flush_sinks();  // so that the state counts what was missed
      record::Cut cut = recorder_.cut(record::Recorder::Events::none);
      recorder_.flush_sinks();
      recorder_.remove_sink(sink);
      const std::lock_guard<std::mutex> guard(mutex_);
      is_closed_ = true;
      if (has_failed_) return false;
      finish(cut);
      return true;
    } catch (const std::exception& error) {
      complain(error.what());
    } catch (...) {
      complain("it threw something unknown");
    }
    recorder_.remove_sink(sink);
    const std::lock_guard<std::mutex> guard(mutex_);
    is_closed_ = has_failed_ = true;
    return false;
  }

  const std::string& path() const noexcept { return output_.path(); }
  std::uint64_t events_written() const noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    return events_;
  }
  std::uint64_t bytes_written() const noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    return chunks_.bytes_written();
  }

 private:
  bool is_done() const { return is_closed_ || has_failed_ || !output_.is_ours(); }

  template <typename Work>
  void guarded_by_failure(Work&& work) {
    try {
      work();
    } catch (const std::exception& error) {
      has_failed_ = true;
      throw DeviceError(failure_text(error.what()));  // the recorder says it and removes the sink
    }
  }

  std::string failure_text(const char* why) const {
    return fmt::format("{}; the file ends after {} events, the program goes on", why, events_);
  }
  void complain(const char* why) const noexcept { std::fprintf(stderr, "strandline: %s\n", why); }

  void append(std::uint64_t first_sequence, std::span<const record::Event> events) {
    if (events.empty()) return;
    if (!rows_.empty() && first_sequence != first_sequence_ + rows_.rows()) flush();
    resolver_.prepare(events);
    const ClockAnchor now = clock_anchor();
    const ClockConversion clock(anchor_, now);
    anchor_ = now;
    for (const record::Event& event : events) {
      if (rows_.rows() == kRowsPerChunk) flush();
      add(event, first_sequence++, clock);
    }
    if (rows_.rows() == kRowsPerChunk) flush();
  }

  void add(const record::Event& event, std::uint64_t sequence, const ClockConversion& clock) {
    last_us_ = std::max(last_us_, clock.unix_us(event.ticks));
    const EventRow row = resolver_.event(event, last_us_);
    if (rows_.empty()) {
      first_sequence_ = sequence;
      first_us_ = last_us_;
      note_oldest();
    }
    cursor_.need(row);
    rows_.add(row);
  }

  void note_oldest() {
    if (rows_.empty() && phase_rows_.empty()) oldest_ = SteadyClock::now();
  }

  PhaseRow row_of(const record::Phase& phase, const ClockConversion& clock) {
    return {.name = tables_.strings.intern(phase.name),
            .number = phase.number,
            .parent = phase.parent,
            .thread = phase.thread,
            .open = phase.open,
            .start_us = clock.unix_us(phase.start_ticks),
            .end_us = phase.open ? last_us_ : clock.unix_us(phase.end_ticks),
            .start_sequence = phase.start_sequence,
            .end_sequence = phase.open ? UINT64_MAX : phase.end_sequence,
            .start_active = phase.start_active,
            .end_active = phase.end_active,
            .peak_active = phase.peak_active};
  }

  void flush() {
    const ChunkFacts facts{.first_sequence = first_sequence_,
                           .events = static_cast<std::uint32_t>(rows_.rows()),
                           .first_us = first_us_,
                           .last_us = last_us_};
    std::string payload;
    cursor_.write(payload, tables_);
    rows_.write(payload, Table::events);
    phase_rows_.write(payload, Table::phases);
    if (payload.empty()) return;
    chunks_.write(ChunkKind::rows, 0, payload, facts);
    events_ += facts.events;
  }

  void write_state_of(record::Cut& cut) {
    read_cut(cut, resolver_, tables_);
    write_state(chunks_, cursor_, tables_, nullptr, cut.next_sequence);
    // Only the tables are kept.
    tables_.segments = {};
    tables_.blocks = {};
    tables_.peak_set = {};
    tables_.phases.clear();
  }

  /// Events that were held back, those up to number `end`.
  void append_held(std::uint64_t end) {
    for (const auto& [first, events] : held_) {
      if (first >= end) break;
      const auto before = std::min<std::uint64_t>(events.size(), end - first);
      append(first, std::span(events).first(static_cast<std::size_t>(before)));
    }
    held_ = {};
  }

  /// What was held back up to the cut, the cut itself, the index.
  void finish(record::Cut& cut) {
    append_held(cut.next_sequence);
    flush();
    write_state_of(cut);
    chunks_.write_index();
    output_.close();
  }

  record::Recorder& recorder_;
  const NativeStreamOptions options_;
  mutable std::mutex mutex_;  // taken with the recorder's delivery, before its own lock
  StreamOutput output_;
  ChunkWriter chunks_;
  TableCursor cursor_;
  Snapshot tables_;
  Resolver resolver_;
  ClockAnchor anchor_;
  RowBuffer<EventRow> rows_;
  RowBuffer<PhaseRow> phase_rows_;
  SteadyClock::time_point oldest_{};
  std::uint64_t first_sequence_ = 1;
  std::int64_t first_us_ = 0;
  std::int64_t last_us_ = 0;
  std::uint64_t events_ = 0;
  std::vector<std::pair<std::uint64_t, std::vector<record::Event>>> held_;
  bool holds_back_ = true;  // while a state is taken and written
  bool is_closing_ = false;
  bool is_closed_ = false;
  bool has_failed_ = false;
};

NativeStream::NativeStream(std::unique_ptr<Core> core) : core_(std::move(core)) {}
NativeStream::~NativeStream() = default;

std::shared_ptr<NativeStream> NativeStream::open(record::Recorder& recorder,
                                                 const std::string& path,
                                                 const NativeStreamOptions& options) {
  const std::shared_ptr<NativeStream> stream(
      new NativeStream(std::make_unique<Core>(recorder, path, options)));
  try {
    stream->core_->begin(stream);
  } catch (...) {
    recorder.remove_sink(stream.get());
    throw;
  }
  return stream;
}

bool NativeStream::close() noexcept {
  return core_->close(this);
}

const std::string& NativeStream::path() const noexcept {
  return core_->path();
}
std::uint64_t NativeStream::events_written() const noexcept {
  return core_->events_written();
}
std::uint64_t NativeStream::bytes_written() const noexcept {
  return core_->bytes_written();
}

void NativeStream::write(std::uint64_t first_sequence, std::span<const record::Event> events) {
  core_->write(first_sequence, events);
}

void NativeStream::write_phases(std::span<const record::Phase> phases) {
  core_->write_phases(phases);
}

void NativeStream::tick() {
  core_->tick();
}

}  // namespace strandline::snapshot

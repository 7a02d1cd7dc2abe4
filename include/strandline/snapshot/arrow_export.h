// SPDX-License-Identifier: Apache-2.0
// Tables through Arrow's C data and C stream interface, whose structures stand below as the
// interface has them (arrow.apache.org/docs/format/CDataInterface.html). A table is a struct array
// with one child a column; texts are dictionaries of large UTF-8, times are timestamps in UTC.
//
// What is exported keeps its memory alive until its `release` is called, from any thread.
#pragma once

#include <cstdint>

#include "strandline/core/export.h"
#include "strandline/snapshot/column_table.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_NULLABLE 2
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
#endif

namespace strandline::snapshot {

/// Each fills `out`, which is the caller's to release.
STRANDLINE_API void export_schema(const ColumnTable& table, ArrowSchema* out);
STRANDLINE_API void export_array(const ColumnTable& table, ArrowArray* out);
/// A stream of one batch.
STRANDLINE_API void export_stream(const ColumnTable& table, ArrowArrayStream* out);

}  // namespace strandline::snapshot

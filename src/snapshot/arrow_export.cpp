// SPDX-License-Identifier: Apache-2.0
// One owner behind each exported structure: it holds the children's structures and what the
// buffers point into. A consumer may move children out and release them on their own.
#include "strandline/snapshot/arrow_export.h"

#include <cerrno>

namespace strandline::snapshot {
namespace {

const char* format_of(ColumnType type) noexcept {
  switch (type) {
    case ColumnType::u8:
      return "C";
    case ColumnType::u32:
      return "I";
    case ColumnType::u64:
      return "L";
    case ColumnType::i64:
      return "l";
    case ColumnType::time_us:
      return "tsu:UTC";
  }
  return "";
}

/// Behind a schema.
struct SchemaOwner {
  std::string name;
  std::vector<std::unique_ptr<ArrowSchema>> parts;  // children, or the dictionary
  std::vector<ArrowSchema*> children;
};

void release_schema(ArrowSchema* schema) {
  auto* const owner = static_cast<SchemaOwner*>(schema->private_data);
  for (const auto& part : owner->parts) {
    if (part->release != nullptr) part->release(part.get());
  }
  delete owner;
  schema->release = nullptr;
}

SchemaOwner& begin_schema(ArrowSchema* out, const char* format, const std::string& name) {
  auto* const owner = new SchemaOwner{.name = name, .parts = {}, .children = {}};
  *out = {.format = format,
          .name = owner->name.c_str(),
          .metadata = nullptr,
          .flags = 0,
          .n_children = 0,
          .children = nullptr,
          .dictionary = nullptr,
          .release = &release_schema,
          .private_data = owner};
  return *owner;
}

ArrowSchema* add_part(SchemaOwner& owner) {
  return owner.parts.emplace_back(std::make_unique<ArrowSchema>()).get();
}

void column_schema(const TableColumn& column, ArrowSchema* out) {
  SchemaOwner& owner = begin_schema(out, format_of(column.type), column.name);
  if (column.texts == nullptr) return;
  out->dictionary = add_part(owner);
  begin_schema(out->dictionary, "U", "");
}

/// Behind an array.
struct ArrayOwner {
  std::shared_ptr<const void> values;
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<ArrowArray>> parts;
  std::vector<ArrowArray*> children;
};

void release_array(ArrowArray* array) {
  auto* const owner = static_cast<ArrayOwner*>(array->private_data);
  for (const auto& part : owner->parts) {
    if (part->release != nullptr) part->release(part.get());
  }
  delete owner;
  array->release = nullptr;
}

ArrayOwner& begin_array(ArrowArray* out, std::size_t length, std::vector<const void*> buffers,
                        std::shared_ptr<const void> values) {
  auto* const owner = new ArrayOwner{
      .values = std::move(values), .buffers = std::move(buffers), .parts = {}, .children = {}};
  *out = {.length = static_cast<std::int64_t>(length),
          .null_count = 0,
          .offset = 0,
          .n_buffers = static_cast<std::int64_t>(owner->buffers.size()),
          .n_children = 0,
          .buffers = owner->buffers.data(),
          .children = nullptr,
          .dictionary = nullptr,
          .release = &release_array,
          .private_data = owner};
  return *owner;
}

ArrowArray* add_part(ArrayOwner& owner) {
  return owner.parts.emplace_back(std::make_unique<ArrowArray>()).get();
}

void column_array(const TableColumn& column, std::size_t rows, ArrowArray* out) {
  ArrayOwner& owner = begin_array(out, rows, {nullptr, column.values}, column.owner);
  if (column.texts == nullptr) return;
  out->dictionary = add_part(owner);
  begin_array(out->dictionary, column.texts->count(),
              {nullptr, column.texts->offsets.data(), column.texts->bytes.data()}, column.texts);
}

/// Behind a stream.
struct StreamOwner {
  ColumnTable table;
  bool is_done = false;
};

template <typename Work>
int guarded(Work&& work) noexcept {
  try {
    work();
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  const auto* const owner = static_cast<const StreamOwner*>(stream->private_data);
  return guarded([&] { export_schema(owner->table, out); });
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto* const owner = static_cast<StreamOwner*>(stream->private_data);
  if (owner->is_done) {
    *out = {};  // released: the end
    return 0;
  }
  owner->is_done = true;
  return guarded([&] { export_array(owner->table, out); });
}

const char* stream_error(ArrowArrayStream*) {
  return "no memory left";
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamOwner*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void export_schema(const ColumnTable& table, ArrowSchema* out) {
  SchemaOwner& owner = begin_schema(out, "+s", "");
  for (const TableColumn& column : table.columns) {
    owner.children.push_back(add_part(owner));
    column_schema(column, owner.children.back());
  }
  out->n_children = static_cast<std::int64_t>(owner.children.size());
  out->children = owner.children.data();
}

void export_array(const ColumnTable& table, ArrowArray* out) {
  ArrayOwner& owner = begin_array(out, table.rows, {nullptr}, nullptr);
  for (const TableColumn& column : table.columns) {
    owner.children.push_back(add_part(owner));
    column_array(column, table.rows, owner.children.back());
  }
  out->n_children = static_cast<std::int64_t>(owner.children.size());
  out->children = owner.children.data();
}

void export_stream(const ColumnTable& table, ArrowArrayStream* out) {
  *out = {.get_schema = &stream_schema,
          .get_next = &stream_next,
          .get_last_error = &stream_error,
          .release = &release_stream,
          .private_data = new StreamOwner{.table = table}};
}

}  // namespace strandline::snapshot

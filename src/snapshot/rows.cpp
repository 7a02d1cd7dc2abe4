// SPDX-License-Identifier: Apache-2.0
// Rows in and out of the columns, by their lists of fields.
#include "strandline/snapshot/rows.h"

namespace strandline::snapshot {
namespace {

template <typename Columns, typename Visit>
void for_each_field(Visit&& visit) {
  static constexpr auto kFields = Columns::fields();
  std::apply([&](const auto&... field) { (visit(field), ...); }, kFields);
}

template <typename Columns, typename Row>
void add_row(Columns& columns, const Row& row) {
  for_each_field<Columns>([&](const auto& field) {
    auto& column = columns.*field.column;
    using Cell = typename std::remove_reference_t<decltype(column)>::value_type;
    column.push_back(static_cast<Cell>(row.*field.value));
  });
}

template <typename Row, typename Columns>
Row read_row(const Columns& columns, std::size_t i) {
  Row row;
  for_each_field<Columns>([&](const auto& field) {
    auto& value = row.*field.value;
    value = static_cast<std::remove_reference_t<decltype(value)>>((columns.*field.column)[i]);
  });
  return row;
}

}  // namespace

void EventColumns::reserve(std::size_t rows) {
  for_each_field<EventColumns>([&](const auto& field) { (this->*field.column).reserve(rows); });
}

void EventColumns::push_back(const EventRow& row) {
  add_row(*this, row);
}

EventRow EventColumns::row(std::size_t i) const {
  return read_row<EventRow>(*this, i);
}

void BlockColumns::push_back(const BlockRow& row) {
  add_row(*this, row);
}

BlockRow BlockColumns::row(std::size_t i) const {
  return read_row<BlockRow>(*this, i);
}

void SegmentColumns::push_back(const SegmentRow& row) {
  add_row(*this, row);
}

SegmentRow SegmentColumns::row(std::size_t i) const {
  return read_row<SegmentRow>(*this, i);
}

}  // namespace strandline::snapshot

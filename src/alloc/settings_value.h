// SPDX-License-Identifier: Apache-2.0
// Values of a settings string: the words from one key to the next, read by what the table says of
// the key. Throws SettingsError with the word that cannot be.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "alloc/settings_table.h"
#include "alloc/settings_text.h"

namespace strandline::alloc::settings {

class Words {
 public:
  /// `source` opens the messages: a function, or the variable that the text is from.
  Words(std::string_view text, std::string_view source, Decisions decisions)
      : words_(settings_words(text)), end_(text.size()), source_(source), decisions_(decisions) {}

  [[nodiscard]] bool are_lenient() const { return decisions_ == Decisions::pytorch; }
  [[nodiscard]] bool at_end() const { return next_ == words_.size(); }
  /// The next word is this separator. With PyTorch's rules brackets only count where they are read.
  [[nodiscard]] bool sees(char separator) const { return !at_end() && words_[next_].is(separator); }
  const SettingsWord& take() { return words_[next_++]; }
  /// To what stands behind the first key `name`; false where there is none.
  bool go_behind(std::string_view name);
  void rewind() { next_ = 0; }
  /// Goes past the next word if it says so.
  bool take_if(std::string_view text);

  /// A word that is no separator, for `key` (PyTorch: any); `expected` says what it is.
  const SettingsWord& word(std::string_view key, std::string_view expected);
  /// Goes past a separator (PyTorch: past any word).
  void pass(char separator, std::string_view key);

  [[noreturn]] void refuse(std::string_view key, const SettingsWord& word,
                           std::string_view expected) const;
  [[noreturn]] void refuse_end(std::string_view key, std::string_view expected) const;

 private:
  std::vector<SettingsWord> words_;
  std::size_t next_ = 0;
  std::size_t end_;
  std::string source_;
  Decisions decisions_;
};

/// Reads the value of `key`, named `name` in the text, into `settings`. What is ignored is said in
/// `notes`.
void read_value(Words& words, const Key& key, std::string_view name, Settings& settings,
                std::vector<std::string>& notes);

}  // namespace strandline::alloc::settings

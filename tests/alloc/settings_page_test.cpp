// SPDX-License-Identifier: Apache-2.0
// docs/settings.md is what the table prints. STRANDLINE_WRITE_DOCS=1 writes it.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "strandline/alloc/settings.h"

namespace strandline::alloc {
namespace {

TEST(SettingsPage, is_what_the_table_prints) {
  const std::string path = STRANDLINE_SOURCE_DIR "/docs/settings.md";
  if (std::getenv("STRANDLINE_WRITE_DOCS") != nullptr) std::ofstream(path) << settings_page();
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  EXPECT_EQ(page.str(), settings_page()) << "write it anew: its head says how";
}

}  // namespace
}  // namespace strandline::alloc

// SPDX-License-Identifier: Apache-2.0
// Public sample files beside the project, which tests read where they are and skip where not.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

namespace strandline::testing {

/// The folder of samples of that name; it may not exist.
inline std::filesystem::path samples(const char* name) {
  return std::filesystem::path(STRANDLINE_SOURCE_DIR).parent_path() / "shared" / "samples" / name;
}

inline nlohmann::json expected_facts(const std::filesystem::path& folder) {
  std::ifstream file(folder / "expected.json");
  return nlohmann::json::parse(file);
}

}  // namespace strandline::testing

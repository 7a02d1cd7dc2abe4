// SPDX-License-Identifier: Apache-2.0
// The JSON holds what the text shows, exactly, and its schema names every key of it.
#include "strandline/snapshot/report_json.h"

#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "snapshot/training_record.h"

namespace strandline::snapshot {
namespace {

using nlohmann::json;
using testing::kMiB;
using testing::TrainingRecord;

json training_json() {
  TrainingRecord training;
  training.record.cut.counters.events_overwritten = 5;
  RunInfo run;
  run.program = "train.py";
  run.exit_status = 1;
  return json::parse(report_json(make_peak_report(training.record.snapshot(), run), "out.pickle"));
}

TEST(ReportJson, BytesAreExact) {
  const json report = training_json();
  EXPECT_EQ(report["version"], kReportJsonVersion);
  EXPECT_EQ(report["peak"]["active_bytes"], 87 * kMiB);
  EXPECT_EQ(report["peak"]["requested_bytes"], 87 * kMiB - 4 * 100 - 7);
  EXPECT_EQ(report["peak"]["reserved_bytes"], 103 * kMiB);
  EXPECT_EQ(report["run"]["exit_status"], 1);
  EXPECT_EQ(report["run"]["steps"], nullptr);
  EXPECT_EQ(report["run"]["snapshot"], "out.pickle");
  EXPECT_EQ(report["unattributed"], (json{{{"kind", "library line only"},
                                           {"bytes", 3 * kMiB},
                                           {"requested_bytes", 3 * kMiB},
                                           {"blocks", 1}}}));
  const json& softmax = report["by_line"][0]["items"][1];
  EXPECT_EQ(softmax["direction"], "backward");
  EXPECT_EQ(softmax["called_at"]["line"], 120);
  EXPECT_EQ(report["by_label"][0]["name"], nullptr);
  EXPECT_EQ(report["growth"]["bytes"], 0);
  EXPECT_EQ(report["notes"][0]["number"], 5);
}

TEST(ReportJson, TextThatIsNoUtf8IsRepaired) {
  PeakReport report;
  report.run.program = "a\xFF.py";
  EXPECT_EQ(json::parse(report_json(report))["run"]["program"], "a\xEF\xBF\xBD.py");
}

/// Checks a value by the part of JSON Schema that our schema uses; what it does not know fails.
class Schema {
 public:
  explicit Schema(json root) : root_(std::move(root)) {}

  std::string check(const json& value) const { return check(value, root_, "$"); }

 private:
  std::string check(const json& value, const json& schema, const std::string& at) const {
    for (const auto& [key, rule] : schema.items()) {
      const std::string fault = apply(key, rule, value, schema, at);
      if (!fault.empty()) return fault;
    }
    return {};
  }

  std::string apply(const std::string& key, const json& rule, const json& value, const json& schema,
                    const std::string& at) const {
    static const std::set<std::string> kSilent{"$schema",     "$id",   "title",
                                               "description", "$defs", "additionalProperties"};
    if (kSilent.contains(key)) return {};
    if (key == "$ref") {
      const std::string name = rule.get<std::string>().substr(std::string("#/$defs/").size());
      return check(value, root_["$defs"].at(name), at);
    }
    if (key == "const") return value == rule ? "" : at + " is not the constant";
    if (key == "enum") {
      return std::find(rule.begin(), rule.end(), value) != rule.end() ? "" : at + " not in enum";
    }
    if (key == "type") return has_type(value, rule) ? "" : at + " is of another type";
    if (key == "minimum") {
      return !value.is_number() || value >= rule ? "" : at + " is below its minimum";
    }
    if (key == "required") return required(value, rule, at);
    if (key == "properties") return properties(value, rule, schema, at);
    if (key == "items") return items(value, rule, at);
    if (key == "oneOf") {
      return std::count_if(rule.begin(), rule.end(),
                           [&](const json& one) { return check(value, one, at).empty(); }) == 1
                 ? ""
                 : at + " matches not exactly one";
    }
    return "the schema uses " + key;
  }

  static bool has_type(const json& value, const json& rule) {
    if (rule.is_array()) {
      return std::any_of(rule.begin(), rule.end(),
                         [&](const json& one) { return has_type(value, one); });
    }
    if (rule == "object") return value.is_object();
    if (rule == "array") return value.is_array();
    if (rule == "string") return value.is_string();
    if (rule == "null") return value.is_null();
    if (rule == "boolean") return value.is_boolean();
    if (rule == "integer") return value.is_number_integer();
    return rule == "number" && value.is_number();
  }

  static std::string required(const json& value, const json& rule, const std::string& at) {
    for (const json& name : rule) {
      if (!value.contains(name.get<std::string>())) return at + " lacks " + name.dump();
    }
    return {};
  }

  std::string properties(const json& value, const json& rule, const json& schema,
                         const std::string& at) const {
    for (const auto& [name, member] : value.items()) {
      if (!rule.contains(name)) {
        if (schema["additionalProperties"] == false) return at + " has an odd member " + name;
        continue;
      }
      const std::string fault = check(member, rule[name], at + "." + name);
      if (!fault.empty()) return fault;
    }
    return {};
  }

  std::string items(const json& value, const json& rule, const std::string& at) const {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string fault = check(value[i], rule, at + "[" + std::to_string(i) + "]");
      if (!fault.empty()) return fault;
    }
    return {};
  }

  json root_;
};

TEST(ReportJson, IsWhatItsSchemaSays) {
  std::ifstream file(STRANDLINE_SOURCE_DIR "/schema/peak_report.schema.json");
  const Schema schema(json::parse(file));
  json report = training_json();
  EXPECT_EQ(schema.check(report), "");
  EXPECT_EQ(schema.check(json::parse(report_json(PeakReport{}))), "");
  // The check itself can fail.
  report["peak"]["phase"] = 3;
  EXPECT_EQ(schema.check(report), "$.peak.phase is of another type");
  report["peak"].erase("phase");
  EXPECT_EQ(schema.check(report), "$.peak lacks \"phase\"");
  report["peak"]["phase"] = nullptr;
  report["extra"] = 1;
  EXPECT_EQ(schema.check(report), "$ has an odd member extra");
}

}  // namespace
}  // namespace strandline::snapshot

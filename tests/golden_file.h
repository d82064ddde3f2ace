// Whole documents, held byte for byte against tests/golden/. Written anew on purpose:
//   HWPROF_GOLDEN_WRITE=1 build/tests/src_tests --gtest_filter='Golden*'
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "src/report/document.h"
#include "src/report/render/render.h"

namespace hwprof::report {

using Golden = nlohmann::ordered_json;

inline std::string first_difference(const Golden& golden, const Golden& now,
                                    const std::string& at) {
  const auto differ = [&](const std::string& what) {
    return (at.empty() ? "/" : at) + ": " + what;
  };
  if (golden.type() != now.type() || (!golden.is_structured() && golden != now))
    return differ("golden " + golden.dump().substr(0, 200) + ", now " + now.dump().substr(0, 200));
  if (golden.is_array()) {
    for (std::size_t i = 0; i < std::min(golden.size(), now.size()); ++i) {
      const std::string found = first_difference(golden[i], now[i], at + "/" + std::to_string(i));
      if (!found.empty()) return found;
    }
    if (golden.size() == now.size()) return "";
    return differ(std::to_string(now.size()) + " items instead of " +
                  std::to_string(golden.size()));
  }
  if (!golden.is_object()) return "";
  for (const auto& [key, value] : golden.items()) {
    if (!now.contains(key)) return differ("the key '" + key + "' is gone");
    const std::string found = first_difference(value, now[key], at + "/" + key);
    if (!found.empty()) return found;
  }
  for (auto was = golden.begin(), is = now.begin(); is != now.end(); ++is) {
    if (!golden.contains(is.key())) return differ("the key '" + is.key() + "' is new");
    if (was.key() != is.key())
      return differ("'" + is.key() + "' stands where '" + was.key() + "' was");
    ++was;
  }
  return "";
}

inline void expect_golden(const std::string& name, const std::string& now) {
  const std::string path = std::string(DATA) + "/../golden/" + name;
  if (const char* write = std::getenv("HWPROF_GOLDEN_WRITE"); write && *write == '1') {
    std::ofstream(path, std::ios::binary) << now;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing";
  std::stringstream golden;
  golden << file.rdbuf();
  if (golden.str() == now) return;
  if (name.ends_with(".json")) {
    ADD_FAILURE() << name << ": "
                  << first_difference(Golden::parse(golden.str()), Golden::parse(now), "");
    return;
  }
  std::istringstream were(golden.str()), are(now);
  std::string was, is;
  for (int line = 1; std::getline(were, was) && std::getline(are, is); ++line) {
    ASSERT_EQ(was, is) << name << ", line " << line;
  }
  ADD_FAILURE() << name << ": " << golden.str().size() << " bytes were wanted, " << now.size()
                << " are there";
}

// Brief on a narrow page, full on a wide one, and markdown.
inline void expect_document(const std::string& name, const Document& document) {
  expect_golden(name + ".80.txt", as_text(document, {.columns = 80}));
  expect_golden(name + ".120.txt", as_text(document, {.columns = 120, .full = true}));
  expect_golden(name + ".md", as_markdown(document));
}

}  // namespace hwprof::report

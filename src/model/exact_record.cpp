#include "src/model/exact_record.h"

#include <algorithm>

namespace hwprof::model {

std::optional<ExactHotspot> hotspot_of(const ExactCount& count) {
  if (count.flops == 0 || count.by_function.empty()) return std::nullopt;
  const ExactFunction& first = count.by_function.front();
  if (first.flops == 0) return std::nullopt;
  const auto widest =
      std::max_element(first.flops_by_width.begin(), first.flops_by_width.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (widest == first.flops_by_width.end()) return std::nullopt;
  return ExactHotspot{.function = &first, .width = widest->first};
}

template <>
const Record& record<ExactFunction>() {
  static constexpr Field kFields[] = {
      field<&ExactFunction::name>("name", "", "null: no symbol covers its code").null_if_empty(),
      field<&ExactFunction::library>("library", "", "its file; null: code that stands in none")
          .null_if_empty(),
      field<&ExactFunction::instructions>("instructions", "", ""),
      field<&ExactFunction::flops>("flops", "FLOP", ""),
      field<&ExactFunction::flops_by_width>(
          "flops_by_width", "FLOP", "by bits of the vectors: `512`, `256`, `128`, `scalar`"),
      field<&ExactFunction::operations>("operations", "", "lanes that took part"),
      field<&ExactFunction::bytes_loaded>("bytes_loaded", "B", ""),
      field<&ExactFunction::bytes_stored>("bytes_stored", "B", ""),
  };
  static constexpr Record kRecord{
      "ExactFunction", "What was executed in one function, without those that it calls.", kFields};
  return kRecord;
}

template <>
const Record& record<ExactCount>() {
  static constexpr Field kFields[] = {
      field<&ExactCount::instructions>("instructions", "", "").column("exact_instructions"),
      field<&ExactCount::flops>("flops", "FLOP", "a fused multiply-add of one lane is 2")
          .column("exact_flops"),
      field<&ExactCount::flops_by_precision>("flops_by_precision", "FLOP",
                                             "`half`, `single`, `double`, `extended` (x87)"),
      field<&ExactCount::flops_by_width>("flops_by_width", "FLOP",
                                         "by bits of the vectors: `512`, `256`, `128`, `scalar`"),
      field<&ExactCount::operations>(
          "operations", "",
          "lanes that took part: `fma`, `add`, `multiply`, `divide`, `square-root`, `dot`, "
          "`compare`, `min-max`, `approximate`, `round`"),
      field<&ExactCount::bytes_loaded>("bytes_loaded", "B", "by instructions, wherever from")
          .column("exact_bytes_loaded"),
      field<&ExactCount::bytes_stored>("bytes_stored", "B", "").column("exact_bytes_stored"),
      field<&ExactCount::masked_lanes_off>("masked_lanes_off", "",
                                           "lanes that masks switched off: no FLOP, no bytes"),
      field<&ExactCount::system_calls>("system_calls", "", "what the kernel does is not counted"),
      field<&ExactCount::by_function>("by_function", "", "most FLOP first"),
  };
  static constexpr Record kRecord{"ExactCount", "What one call executed, the same in every run.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<ExactWork>() {
  static constexpr Field kFields[] = {
      spliced<&ExactWork::count>(),
      field<&ExactWork::to_model>("to_model", "",
                                  "`flops` over `model.flops`; null where the model has none")
          .column("exact_to_model"),
      field<&ExactWork::stepped>("stepped", "",
                                 "counted by single steps as well (`--engine steps`), equal in "
                                 "every field"),
      field<&ExactWork::excess>("excess", "", "where FLOP that the model does not have come from"),
      field<&ExactWork::reason>("reason", "", "why nothing was counted")
          .null_if_empty()
          .column("exact_reason"),
  };
  static constexpr Record kRecord{"Exact", "What one call executed, by `--exact`.", kFields};
  return kRecord;
}

}  // namespace hwprof::model

#include "src/model/exact_call.h"

#include <fmt/format.h>

namespace hwprof::model {

std::string label_of(const ExactCall& call) {
  if (!call.region.empty()) return fmt::format("region {}, entry {}", call.region, call.call);
  if (!call.symbol.empty()) return fmt::format("{}, call {}", call.symbol, call.call);
  return "a call";
}

template <>
const Record& record<ExactCall>() {
  static constexpr Field kFields[] = {
      field<&ExactCall::symbol>("symbol", "", "null: a region").null_if_empty(),
      field<&ExactCall::region>("region", "", "with `--exact-region`").null_if_empty(),
      field<&ExactCall::call>("call", "",
                              "its number among the calls of the symbol, or the entries to the "
                              "region, over all processes"),
      field<&ExactCall::caller>("caller", "", "the file that called").null_if_empty(),
      field<&ExactCall::library>("library", "", "the file that served it").null_if_empty(),
      field<&ExactCall::m>("m", "", "null: the shape cannot be read from the arguments"),
      field<&ExactCall::n>("n", "", ""),
      field<&ExactCall::k>("k", "", "products each element of the result is a sum of"),
      field<&ExactCall::form>("form", "", "of its matrices, as in `A transposed`").null_if_empty(),
      field<&ExactCall::model_flops>(
          "model_flops", "FLOP", "useful ones: 2 m n k of a product; of a region those declared"),
      spliced<&ExactCall::count>(),
      field<&ExactCall::to_model>("to_model", "", "`flops` over `model_flops`"),
      field<&ExactCall::reason>("reason", "", "why it is not counted").null_if_empty(),
  };
  static constexpr Record kRecord{"ExactCall",
                                  "A call that `run --exact` counted, or an entry that "
                                  "`--exact-region` did, instruction by instruction.",
                                  kFields};
  return kRecord;
}

}  // namespace hwprof::model

#include "src/model/exact_call.h"

namespace hwprof::model {

template <>
const Record& record<ExactCall>() {
  static constexpr Field kFields[] = {
      field<&ExactCall::symbol>("symbol", "", ""),
      field<&ExactCall::call>("call", "",
                              "its number among the calls of the symbol, over all processes"),
      field<&ExactCall::caller>("caller", "", "the file that called").null_if_empty(),
      field<&ExactCall::library>("library", "", "the file that served it").null_if_empty(),
      field<&ExactCall::m>("m", "", "null: the shape cannot be read from the arguments"),
      field<&ExactCall::n>("n", "", ""),
      field<&ExactCall::k>("k", "", "products each element of the result is a sum of"),
      field<&ExactCall::form>("form", "", "of its matrices, as in `A transposed`").null_if_empty(),
      field<&ExactCall::model_flops>("model_flops", "FLOP", "useful ones: 2 m n k of a product"),
      spliced<&ExactCall::count>(),
      field<&ExactCall::to_model>("to_model", "", "`flops` over `model_flops`"),
      field<&ExactCall::reason>("reason", "", "why it is not counted").null_if_empty(),
  };
  static constexpr Record kRecord{
      "ExactCall", "A call that `run --exact` counted, instruction by instruction.", kFields};
  return kRecord;
}

}  // namespace hwprof::model

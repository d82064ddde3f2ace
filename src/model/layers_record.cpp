#include "src/model/layers_record.h"

namespace hwprof::model {
namespace {

std::optional<double> sum_beside_whole(const LayerForm& form) {
  return form.whole_ns ? std::optional(form.sum_ns) : std::nullopt;
}
void take_sum(LayerForm& form, const Scalar& from) {
  form.sum_ns = number_of(from).value_or(form.sum_ns);
}
std::optional<double> median_of_whole(const LayerForm& form) {
  return form.whole_ns ? std::optional(form.whole_ns->median) : std::nullopt;
}
double sum_of_layers(const LayerForm& form) { return form.sum_ns; }

const std::string& first_name(const Layers& layers) { return layers.forms.front().name; }
const std::vector<LayerRow>& first_layers(const Layers& layers) {
  return layers.forms.front().layers;
}
const std::vector<LayerType>& first_types(const Layers& layers) {
  return layers.forms.front().types;
}

}  // namespace

template <>
const Record& record<LayerRow>() {
  static constexpr Field kFields[] = {
      field<&LayerRow::index>("index", "", "from 0").column("index"),
      field<&LayerRow::name>("name", "", "of its type: `Convolution2DFunction`").column("layer"),
      field<&LayerRow::label>("label", "", "its own: `block4.conv1`").column("label"),
      field<&LayerRow::output>("output", "", "shape"),
      field<&LayerRow::share>("share", "", "of the sum of the layers").column("layer_share"),
      field<&LayerRow::far_above>("far_above", "", "longer than twice the mean layer")
          .column("far_above"),
      spliced<&LayerRow::row>(Field::kOfForwardPass),
  };
  static constexpr Record kRecord{"Layer", "Of a network.", kFields};
  return kRecord;
}

template <>
const Record& record<LayerType>() {
  static constexpr Field kFields[] = {
      field<&LayerType::name>("name", "", ""),
      field<&LayerType::elapsed_ns>("elapsed_ns", "ns", "an inference"),
      field<&LayerType::occurrence>("occurrence", "", "how many layers are of it"),
      field<&LayerType::share>("share", "", "of the sum of the layers"),
  };
  static constexpr Record kRecord{
      "LayerType", "All layers of a type added up, as Chainer's TimerHook does.", kFields};
  return kRecord;
}

template <>
const Record& record<LayerForm>() {
  static constexpr Field kFields[] = {
      field<&LayerForm::name>("name", "", "`eager`").column("form"),
      field<&LayerForm::meaning>("meaning", "", "in words"),
      field<&LayerForm::reason>("reason", "", "why it was not measured").null_if_empty(),
      field<&LayerForm::whole_ns>("inference_ns", "ns",
                                  "the inference alone, between those timed by layer"),
      computed<sum_beside_whole>("sum_of_layers_ns", "ns", "of an inference, the median")
          .read_by<take_sum>(),
      field<&LayerForm::sum_to_whole>("sum_to_inference", "", "that sum over the whole"),
      field<&LayerForm::inferences>("inferences", "", "timed by layer; as many alone"),
      field<&LayerForm::layers>("layers", "", "in order"),
      field<&LayerForm::types>("layer_types", "", "longest first"),
  };
  static constexpr Record kRecord{"Form", "One way to run the network.", kFields};
  return kRecord;
}

template <>
const Record& record<AgainstRow>() {
  static constexpr Field kFields[] = {
      field<&AgainstRow::name>("name", "", "of the type").null_if_empty(),
      field<&AgainstRow::label>("label", "", "its own").null_if_empty(),
      field<&AgainstRow::theirs_ns>("theirs_ns", "ns", "").column("against_ns"),
      field<&AgainstRow::ours_ns>("ours_ns", "ns", ""),
      field<&AgainstRow::ratio>("ratio", "", "theirs over ours").column("against_ratio"),
  };
  static constexpr Record kRecord{"AgainstRow", "A time of another table beside ours.", kFields};
  return kRecord;
}

template <>
const Record& record<Against>() {
  static constexpr Field kFields[] = {
      field<&Against::file>("file", "", "that `--against` names"),
      field<&Against::form>("form", "", "of ours that it is held against"),
      field<&Against::total>("total", "", ""),
      field<&Against::types>("types", "", ""),
      field<&Against::layers>("layers", "", ""),
  };
  static constexpr Record kRecord{"Against", "Another table's times beside ours.", kFields};
  return kRecord;
}

template <>
const Record& record<Layers>() {
  static constexpr Field kFields[] = {
      field<first_name>("layers_form", "",
                        "the first form; what follows is only of a network of layers"),
      field<first_layers>("layers", "", "of that form"),
      field<first_types>("layer_types", "", "of that form"),
      field<&Layers::forms>("forms", "", "all, the first included"),
      field<&Layers::clock_ns>("clock_ns", "ns",
                               "of one reading of the clock, taken off each layer's time"),
      by_name<&Layers::nothing, &EventCount::name>("counters_of_nothing", "",
                                                   "what counting around nothing counts"),
      field<&Layers::against>("against", "", "null without `--against`"),
  };
  static constexpr Record kRecord{"Layers", "Of a network of layers.", kFields};
  return kRecord;
}

std::span<const Field> form_columns() {
  static constexpr Field kFields[] = {
      only_in_csv<median_of_whole>("inference_median_ns"),
      only_in_csv<sum_of_layers>("sum_of_layers_ns"),
  };
  return kFields;
}

}  // namespace hwprof::model

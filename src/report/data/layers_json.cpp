// A network's layers in hwprof.profile/1: `layers` are those of the first form, in order.
#include "src/report/data/json_parts.h"

namespace hwprof::report {
namespace {

Json layer_json(const Profile& profile, const LayerRow& layer) {
  Json out = {{"index", layer.index},         {"name", layer.name},
              {"label", layer.label},         {"output", layer.output},
              {"share", number(layer.share)}, {"far_above", layer.far_above}};
  out.update(row_json(profile, layer.row));
  out.erase("pass");
  out.erase("forward_share");  // `share` is that
  return out;
}

Json layers_of(const Profile& profile, const LayerForm& form) {
  Json out = Json::array();
  for (const LayerRow& layer : form.layers) out.push_back(layer_json(profile, layer));
  return out;
}

Json types_json(const LayerForm& form) {
  Json out = Json::array();
  for (const LayerType& type : form.types) {
    out.push_back({{"name", type.name},
                   {"elapsed_ns", number(type.elapsed_ns)},
                   {"occurrence", type.occurrence},
                   {"share", number(type.share)}});
  }
  return out;
}

Json against_row(const AgainstRow& row) {
  return {{"name", or_null(row.name)},
          {"label", or_null(row.label)},
          {"theirs_ns", number(row.theirs_ns)},
          {"ours_ns", number(row.ours_ns)},
          {"ratio", number(row.ratio)}};
}

Json against_json(const Against& against) {
  Json layers = Json::array(), types = Json::array();
  for (const AgainstRow& row : against.layers) layers.push_back(against_row(row));
  for (const AgainstRow& row : against.types) types.push_back(against_row(row));
  return {{"file", against.file},
          {"form", against.form},
          {"total", against_row(against.total)},
          {"types", types},
          {"layers", layers}};
}

}  // namespace

void add_layers_json(const Profile& profile, const Layers& layers, Json& out) {
  const LayerForm& first = layers.forms.front();
  out["layers_form"] = first.name;
  out["layers"] = layers_of(profile, first);
  out["layer_types"] = types_json(first);
  Json forms = Json::array();
  for (const LayerForm& form : layers.forms) {
    forms.push_back({{"name", form.name},
                     {"meaning", form.meaning},
                     {"reason", or_null(form.reason)},
                     {"inference_ns", form.whole_ns ? time_json(*form.whole_ns) : Json(nullptr)},
                     {"sum_of_layers_ns", form.whole_ns ? Json(form.sum_ns) : Json(nullptr)},
                     {"sum_to_inference", number(form.sum_to_whole)},
                     {"inferences", form.inferences},
                     {"layers", layers_of(profile, form)},
                     {"layer_types", types_json(form)}});
  }
  out["forms"] = forms;
  out["clock_ns"] = number(layers.clock_ns);
  out["counters_of_nothing"] = counters_json(layers.nothing);
  out["against"] = layers.against ? against_json(*layers.against) : Json(nullptr);
}

}  // namespace hwprof::report

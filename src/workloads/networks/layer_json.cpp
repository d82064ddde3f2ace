#include "src/workloads/networks/layer_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "src/base/suggest.h"
#include "src/workloads/inputs/json_lines.h"
#include "src/workloads/inputs/line_reader.h"

namespace hwprof {
namespace {

constexpr std::string_view kSchema = "hwprof.workload/1";
constexpr std::size_t kMostGraphBytes = std::size_t{64} << 20;  // 64 MiB

// Lines of a layer's keys; key "" is the layer itself.
using KeyLines = std::vector<std::pair<std::string, std::size_t>>;

class GraphReader {
 public:
  explicit GraphReader(const std::string& file) : file_(file) {}

  Result<GraphFile> read(const JsonLine& root) {
    const auto* object = std::get_if<JsonObject>(&root.value);
    if (object == nullptr) return wrong(root.line, "a workload is an object, with layers");
    if (auto done = check_schema(*object); !done) return error_of(done);
    LayerGraph graph{.name = "layers", .input = {}, .layers = {}};
    bool has_input = false, has_layers = false;
    for (const auto& [key, line, value] : *object) {
      Result<void> done;
      if (key == "schema") continue;
      if (key == "name") {
        done = take_text(key, value, graph.name);
      } else if (key == "input") {
        has_input = true;
        done = take_shape(key, value, graph.input);
      } else if (key == "layers") {
        has_layers = true;
        done = take_layers(value, graph.layers);
      } else {
        constexpr std::string_view kKeys[] = {"schema", "name", "input", "layers"};
        done = wrong(line, fmt::format("unknown key \"{}\"", key),
                     did_you_mean(nearest(key, std::span(kKeys))));
      }
      if (!done) return error_of(done);
    }
    if (!has_input) return wrong(root.line, "there is no \"input\"", kInputHint);
    if (!has_layers) return wrong(root.line, "there are no \"layers\"");
    return GraphFile{std::move(graph), place()};
  }

 private:
  static constexpr const char* kInputHint = "the shape of what the network reads: [1, 32, 32, 3]";

  tl::unexpected<Error> wrong(std::size_t line, const std::string& what, std::string hint = {}) {
    return usage_error(fmt::format("line {} of {}: {}", line, file_, what), std::move(hint));
  }
  tl::unexpected<Error> not_a(const std::string& key, const JsonLine& value,
                              std::string_view kind) {
    return wrong(value.line, fmt::format("\"{}\" is {}, not {}", key, value.described(), kind));
  }

  Result<void> check_schema(const JsonObject& object) {
    for (const auto& [key, line, value] : object) {
      if (key != "schema") continue;
      const auto* text = std::get_if<std::string>(&value.value);
      if (text != nullptr && *text == kSchema) return {};
      return wrong(value.line, fmt::format("the schema is {}", value.described()),
                   fmt::format("this is a file of something else; a workload has \"{}\"", kSchema));
    }
    return {};
  }

  Result<void> take_text(const std::string& key, const JsonLine& value, std::string& to) {
    const auto* text = std::get_if<std::string>(&value.value);
    if (text == nullptr) return not_a(key, value, "a text");
    to = *text;
    return {};
  }

  Result<std::uint64_t> whole(const std::string& key, const JsonLine& value) {
    const auto* number = std::get_if<std::uint64_t>(&value.value);
    if (number == nullptr) return not_a(key, value, "a whole number");
    return *number;
  }

  Result<void> take_shape(const std::string& key, const JsonLine& value, TensorShape& to) {
    const auto* array = std::get_if<JsonArray>(&value.value);
    if (array == nullptr) return not_a(key, value, "a list of whole numbers");
    for (const JsonLine& item : *array) {
      const Result<std::uint64_t> number = whole(key, item);
      if (!number) return error_of(number);
      if (*number == 0) return wrong(item.line, fmt::format("\"{}\" has a 0", key));
      to.push_back(*number);
    }
    if (to.empty()) return wrong(value.line, fmt::format("\"{}\" is empty", key), kInputHint);
    return {};
  }

  Result<void> take_layers(const JsonLine& value, std::vector<Layer>& to) {
    const auto* array = std::get_if<JsonArray>(&value.value);
    if (array == nullptr) return not_a("layers", value, "a list");
    if (array->empty()) return wrong(value.line, "\"layers\" is empty");
    for (const JsonLine& item : *array) {
      const auto* object = std::get_if<JsonObject>(&item.value);
      if (object == nullptr) return not_a("layers", item, "a list of objects");
      lines_.push_back({{"", item.line}});
      if (auto done = take_layer(item.line, *object, to.emplace_back()); !done) {
        return error_of(done);
      }
    }
    return {};
  }

  // Keys that are not the layer's own are sizes.
  Result<void> take_layer(std::size_t line, const JsonObject& object, Layer& to) {
    for (const auto& [key, key_line, value] : object) {
      lines_.back().emplace_back(key, key_line);
      Result<void> done;
      if (key == "name") {
        done = take_text(key, value, to.name);
      } else if (key == "op") {
        done = take_text(key, value, to.op);
      } else if (key == "inputs") {
        done = take_inputs(value, to.inputs);
      } else {
        const Result<std::uint64_t> number = whole(key, value);
        if (!number) return error_of(number);
        to.sizes.emplace_back(key, *number);
      }
      if (!done) return error_of(done);
    }
    if (to.op.empty()) return wrong(line, "a layer without \"op\"", "as in \"op\": \"conv2d\"");
    if (to.name.empty()) to.name = fmt::format("{}.{}", to.op, lines_.size());
    return {};
  }

  Result<void> take_inputs(const JsonLine& value, std::vector<std::string>& to) {
    const auto* array = std::get_if<JsonArray>(&value.value);
    if (array == nullptr) return not_a("inputs", value, "a list of names");
    for (const JsonLine& item : *array) {
      if (auto done = take_text("inputs", item, to.emplace_back()); !done) return error_of(done);
    }
    if (to.empty()) return wrong(value.line, "\"inputs\" is empty");
    return {};
  }

  [[nodiscard]] PlaceOf place() const {
    return [lines = lines_, file = file_](std::size_t layer, std::string_view key) {
      std::size_t line = lines[layer].front().second;
      for (const auto& [name, at] : lines[layer]) {
        if (name == key) line = at;
      }
      return fmt::format("line {} of {}", line, file);
    };
  }

  const std::string& file_;
  std::vector<KeyLines> lines_;
};

}  // namespace

Result<GraphFile> parse_graph(const std::string& text, const std::string& file) {
  const Result<JsonLine> root = parse_json_lines(text, file, kMaxLayers);
  if (!root) return error_of(root);
  return GraphReader(file).read(*root);
}

Result<Network> read_network(const std::string& path, std::uint64_t seed) {
  const Result<std::string> text = read_lines(path, kMostGraphBytes, "workload");
  if (!text) return error_of(text);
  const Result<GraphFile> file = parse_graph(*text, path == "-" ? "standard input" : path);
  if (!file) return error_of(file);
  return resolve(file->graph, seed, file->place);
}

std::string graph_json(const LayerGraph& graph) {
  using Json = nlohmann::ordered_json;
  // One line a layer: a network is read as a list.
  std::string out = fmt::format("{{\n  \"schema\": \"{}\",\n  \"name\": {},\n  \"input\": {},\n",
                                kSchema, Json(graph.name).dump(), Json(graph.input).dump());
  out += "  \"layers\": [\n";
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    Json json = {{"name", layer.name}, {"op", layer.op}};
    for (const auto& [name, value] : layer.sizes) json[name] = value;
    if (!layer.inputs.empty()) json["inputs"] = layer.inputs;
    out += fmt::format("    {}{}\n", json.dump(), i + 1 < graph.layers.size() ? "," : "");
  }
  return out + "  ]\n}\n";
}

}  // namespace hwprof

// A network of layers, whole and layer by layer, in each of its forms.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "src/base/suggest.h"
#include "src/commands/interrupt.h"
#include "src/commands/layers_record.h"
#include "src/commands/profile_record.h"
#include "src/commands/profile_regions.h"
#include "src/commands/profile_workloads.h"
#include "src/measure/layer_counts.h"
#include "src/measure/layer_times.h"
#include "src/workloads/networks/layer_json.h"
#include "src/workloads/networks/layer_net.h"
#include "src/workloads/networks/layer_table.h"
#include "src/workloads/networks/resnet20.h"

namespace hwprof {
namespace {

// Shares of the time that is left after the set-up: the inference whole, layer by layer, counted.
constexpr double kWholeShare = 0.3, kLayerShare = 0.7;

Result<std::vector<const NetForm*>> forms_of(const ProfileOptions& options) {
  std::vector<std::string_view> names;
  std::vector<const NetForm*> forms;
  for (const NetForm& form : net_forms()) {
    names.push_back(form.name);
    const auto& asked = options.variants;
    if (asked.empty() || std::find(asked.begin(), asked.end(), form.name) != asked.end()) {
      forms.push_back(&form);
    }
  }
  for (const std::string& name : options.variants) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = did_you_mean(nearest(name, std::span(names)));
    return usage_error(fmt::format("unknown variant '{}'", name),
                       near.empty() ? fmt::format("known: {}", fmt::join(names, ", ")) : near);
  }
  return forms;
}

Result<Network> network_of(const ProfileOptions& options) {
  return options.workload == "resnet20" ? resolve(resnet20(), options.seed)
                                        : read_network(options.workload, options.seed);
}

Result<std::vector<double>> against_of(const ProfileOptions& options, const Network& network,
                                       const NetForm& first) {
  if (options.against.empty()) return std::vector<double>();
  if (first.fused) {
    return usage_error("--against compares layers one by one, and in the form fused they are not",
                       "add eager to --variant");
  }
  return read_layer_table(options.against, network);
}

Result<void> check_memory_of(const Network& network, const std::vector<const NetForm*>& forms) {
  double bytes = 0;
  for (const NetForm* form : forms) bytes += LayerNet::bytes_needed(network, *form);
  return check_memory(fmt::format("{} in {} forms", network.name, forms.size()), bytes);
}

report::Workload describe(const Network& network) {
  report::Workload workload;
  workload.name = network.name;
  workload.layers = network.layers.size();
  workload.shape = {{"input", fmt::format("{}", fmt::join(network.input, "x"))}};
  return workload;
}

// The whole inference of a form, as any other operation. `expected` empty: its layers are held
// against double precision one by one instead.
Task whole_of(const LayerNet& net, const std::vector<double>& expected) {
  Task task;
  task.op = net.network().name;
  task.variant = net.form().name;
  task.shape = {{"batch", net.network().input.front()}};
  task.cost = net.cost();
  task.optimised = net.form().name != "reference";
  task.needs_blas = net.form().name == "blas";
  task.reason = net.reason();
  if (!net.reason().empty()) return task;
  task.run = [&net] { net.run(); };
  task.check = [&net, &expected] {
    if (!expected.empty()) return output_error(expected, net.output());
    double error = 0;
    for (const Operation& layer : net.layers()) error = std::max(error, layer.task().check());
    return error;
  };
  return task;
}

LayeredWork layered(const LayerNet& net) {
  LayeredWork work;
  for (const Operation& layer : net.layers()) {
    work.layers.push_back(layer.task().run);
    work.flops.push_back(layer.task().cost.flops);
  }
  return work;
}

// Of as many layers as can be checked within a second.
std::vector<std::optional<double>> layer_errors(const LayerNet& net) {
  std::vector<std::optional<double>> errors;
  const auto begin = std::chrono::steady_clock::now();
  for (const Operation& layer : net.layers()) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(1)) break;
    errors.emplace_back(layer.task().check());
  }
  return errors;
}

// Times and counts of each layer of those that can run: the record's `layers`.
Result<void> measure_layers(ProfileSession& session, const ProfileOptions& options,
                            const std::vector<LayerNet>& nets) {
  report::Profile& record = session.record;
  std::vector<LayeredWork> work;
  for (const LayerNet& net : nets) {
    if (net.reason().empty()) work.push_back(layered(net));
  }
  const LayerTimesResult times = time_layers(
      work, session.peak_team(),
      {.budget_s = session.seconds_left() * kLayerShare, .repeat = options.repeat}, interrupted(),
      [&](double share) { session.progress->show("layer by layer", share); });
  Result<Counting> counting = Counting::open(record.machine, session.cpus.front(), session.events,
                                             {.max_passes = options.passes});
  if (!counting) return error_of(counting);
  session.progress->show("counting each layer", 0.9);
  const LayerCounts counts =
      count_layers(work, *counting, session.seconds_left() / 2, interrupted());

  report::Layers& layers = record.layers.emplace();
  layers.clock_ns = times.clock_ns;
  layers.nothing = counting->evaluate(counts.nothing);
  std::size_t at = 0;
  for (const LayerNet& net : nets) {
    MeasuredForm form{.net = net, .times = nullptr, .errors = {}, .counters = {}};
    if (net.reason().empty()) {
      form.times = &times.chains[at];
      for (const Tally& tally : counts.chains[at]) {
        form.counters.push_back(counting->evaluate(tally));
      }
      if (layers.forms.empty()) form.errors = layer_errors(net);
      ++at;
    }
    layers.forms.push_back(
        make_layer_form(form, session.ceilings(), record.threads, counting->limits()));
  }
  record.partial = record.partial || times.interrupted;
  return {};
}

}  // namespace

Result<int> profile_layers(const ProfileOptions& options) {
  // 1. What the user can get wrong, before anything takes time.
  const Result<std::vector<const NetForm*>> forms = forms_of(options);
  if (!forms) return error_of(forms);
  const Result<Network> network = network_of(options);
  if (!network) return error_of(network);
  const Result<std::vector<double>> seconds = against_of(options, *network, *forms->front());
  if (!seconds) return error_of(seconds);
  if (auto fits = check_memory_of(*network, *forms); !fits) return error_of(fits);
  Result<ProfileSession> session = ProfileSession::begin(options);
  if (!session) return error_of(session);
  report::Profile& record = session->record;
  record.workload = describe(*network);

  // 2. BLAS, threads, ceilings, verdict.
  if (auto done = session->set_up(options); !done) return error_of(done);

  // 3. The network in each form, with the same weights.
  const Result<FloatBuffer> input = network_input(*network, options.seed);
  if (!input) return error_of(input);
  std::vector<LayerNet> nets;
  for (const NetForm* form : *forms) {
    Result<LayerNet> net = LayerNet::create(*network, *form, input->span(), session->library(),
                                            session->blas.reason, session->team());
    if (!net) return error_of(net);
    nets.push_back(std::move(*net));
  }

  // 4. The inference as a whole, held against double precision where that takes no minutes.
  constexpr double kCheckFlops = 1e9, kCheckBytes = 256e6;  // about a second, and 1 GB of doubles
  std::vector<double> expected;
  const Cost cost = nets.front().cost();
  if (cost.flops <= kCheckFlops && cost.bytes <= kCheckBytes) {
    Result<std::vector<double>> made = expected_output(*network, input->span(), session->team());
    if (!made) return error_of(made);
    expected = std::move(*made);
  }
  std::vector<Task> tasks;
  for (const LayerNet& net : nets) tasks.push_back(whole_of(net, expected));
  ProfileOptions whole = options;  // --repeat is for the inferences layer by layer
  whole.repeat.reset();
  if (auto done = session->measure(whole, tasks, network->input.front(), kWholeShare); !done) {
    return error_of(done);
  }

  for (report::Row& row : record.rows) {  // a whole inference is all of its pass
    row.pass = row.variant;
    if (row.time_ns) row.forward_share = 1;
  }

  // 5. Layer by layer.
  if (auto done = measure_layers(*session, options, nets); !done) return error_of(done);
  if (!options.against.empty()) {
    record.layers->against = make_against(options.against, record.layers->forms.front(), *seconds);
  }

  // 6. The first form again, in regions.
  if (const LayerNet& net = nets.front(); net.reason().empty()) {
    std::vector<const Task*> layers;
    for (const Operation& layer : net.layers()) layers.push_back(&layer.task());
    const RegionTasks inference("inference", layers);
    const std::string what = fmt::format("inferences, {}", net.form().name);
    if (auto done = profile_regions(*session, options, inference.passes(what)); !done)
      return error_of(done);
  }
  add_warnings(record, options);
  if (expected.empty()) {
    record.warnings.push_back({"whole-unchecked",
                               "the result as a whole was not compared with double precision, "
                               "which would take too long; each layer was, on what it reads"});
  }
  return session->finish(options);
}

}  // namespace hwprof

// A network of layers, whole and layer by layer, in each of its forms.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "src/base/suggest.h"
#include "src/commands/interrupt.h"
#include "src/commands/profile/profile.h"
#include "src/commands/profile/record.h"
#include "src/commands/profile/regions.h"
#include "src/measure/part_counts.h"
#include "src/measure/statistics.h"
#include "src/workloads/networks/layer_graph.h"
#include "src/workloads/networks/layer_json.h"
#include "src/workloads/networks/layer_net.h"

namespace hwprof {
namespace {

// Shares of the time that is left after the set-up: the inference whole, layer by layer, counted.
constexpr double kWholeShare = 0.3, kLayerShare = 0.7;

Result<std::vector<const NetForm*>> forms_of(const NetworkOptions& options) {
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

Result<Network> network_of(const NetworkOptions& options, std::uint64_t seed) {
  return options.network == "resnet20" ? resolve(resnet20(), seed)
                                       : read_network(options.network, seed);
}

Result<std::vector<double>> against_of(const NetworkOptions& options, const Network& network,
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

Work layer_by_layer(const LayerNet& net) {
  Work work{.parts = {}, .by_part = true};
  for (const Operation& layer : net.layers()) {
    work.parts.push_back({layer.task().run, layer.task().cost.flops});
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

// The type of that name, added where it is new.
template <class Row>
Row& named(std::vector<Row>& rows, const std::string& name) {
  auto at =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  if (at == rows.end()) {
    at = rows.insert(rows.end(), Row());
    at->name = name;
  }
  return *at;
}

std::vector<report::LayerType> added_up(const std::vector<report::LayerRow>& layers) {
  std::vector<report::LayerType> types;
  for (const report::LayerRow& layer : layers) {
    if (!layer.row.time_ns) continue;
    report::LayerType& type = named(types, layer.name);
    type.elapsed_ns += work_ns(layer.row);
    type.share += layer.share.value_or(0);
    ++type.occurrence;
  }
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.elapsed_ns > b.elapsed_ns; });
  return types;
}

void set_ratio(report::AgainstRow& row) {
  if (row.ours_ns && *row.ours_ns > 0) row.ratio = row.theirs_ns / *row.ours_ns;
}

// What was measured of one form of a network, layer by layer.
struct MeasuredForm {
  const LayerNet& net;
  const WorkTimes* times = nullptr;  // null: it could not run
  std::vector<std::optional<double>> errors;
  std::vector<std::vector<EventCount>> counters;
};

report::LayerForm make_layer_form(const MeasuredForm& measured, const report::Peak& peak,
                                  std::span<const double> peak_pieces, int threads,
                                  const Limits& limits) {
  const LayerNet& net = measured.net;
  const WorkTimes* times = measured.times;
  report::LayerForm form;
  form.name = net.form().name;
  form.meaning = net.form().meaning;
  const bool timed = times != nullptr && !times->whole.slices.empty();
  if (timed) {
    form.whole_ns = summarise(times->whole, &report::Slice::work_ns);
    form.inferences = times->whole.slices.size();
    form.sum_ns = median(times->sum.values(&report::Slice::work_ns));
    form.sum_to_whole = form.sum_ns / form.whole_ns->median;
  } else {
    form.reason =
        net.reason().empty() ? why_unmeasured(times ? &times->whole : nullptr) : net.reason();
  }
  double medians_ns = 0;
  for (std::size_t i = 0; timed && i < net.layers().size(); ++i) {
    medians_ns += median(times->parts[i].values(&report::Slice::work_ns));
  }
  const double mean_ns = medians_ns / static_cast<double>(net.layers().size());
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    const NetworkLayer& layer = net.network().layers[i];
    report::LayerRow& row = form.layers.emplace_back();
    row.index = i;
    row.name = layer.kind->type_name;
    row.label = layer.name;
    row.output = layer.output;
    const auto error = i < measured.errors.size() ? measured.errors[i] : std::nullopt;
    row.row = make_row(
        net.layers()[i].task(),
        timed   ? &times->parts[i]
        : times ? &times->whole
                : nullptr,
        error, error ? layer.output.front() : 0, peak, peak_pieces, threads,
        i < measured.counters.size() ? measured.counters[i] : std::vector<EventCount>(), limits);
    if (!timed) {
      row.row.reason = form.reason;
      continue;
    }
    row.share = work_ns(row.row) / medians_ns;
    row.far_above = work_ns(row.row) > report::kFarAbove * mean_ns;
  }
  form.types = added_up(form.layers);
  return form;
}

// `seconds`: of each layer of `form`.
report::Against make_against(const std::string& file, const report::LayerForm& form,
                             const std::vector<double>& seconds) {
  report::Against against{.file = file, .form = form.name, .layers = {}, .types = {}, .total = {}};
  against.total.name = "total";
  for (std::size_t i = 0; i < form.layers.size(); ++i) {
    const report::LayerRow& layer = form.layers[i];
    report::AgainstRow row{.name = layer.name,
                           .label = layer.label,
                           .theirs_ns = seconds[i] * 1e9,
                           .ours_ns = {},
                           .ratio = {}};
    if (layer.row.time_ns) row.ours_ns = work_ns(layer.row);
    set_ratio(row);
    for (report::AgainstRow* sum : {&named(against.types, layer.name), &against.total}) {
      sum->theirs_ns += row.theirs_ns;
      if (row.ours_ns) sum->ours_ns = sum->ours_ns.value_or(0) + *row.ours_ns;
    }
    against.layers.push_back(std::move(row));
  }
  for (report::AgainstRow& row : against.types) set_ratio(row);
  set_ratio(against.total);
  std::stable_sort(against.types.begin(), against.types.end(),
                   [](const auto& a, const auto& b) { return a.theirs_ns > b.theirs_ns; });
  return against;
}

// Times and counts of each layer of those that can run: the record's `layers`.
Result<void> measure_layers(ProfileSession& session, const std::vector<LayerNet>& nets) {
  const MeasureOptions& options = session.options;
  report::Profile& record = session.record;
  std::vector<Work> work;
  for (const LayerNet& net : nets) {
    if (!net.reason().empty()) continue;
    work.push_back(layer_by_layer(net));
    work.back().threads = std::max(record.threads, session.blas.threads);
  }
  ScheduleOptions schedule{.budget_s = session.seconds_left() * kLayerShare, .cpus = session.cpus};
  schedule.repeat = options.budget.repeat;
  const ScheduleResult times =
      run_interleaved(work, session.peak_team(), nullptr, schedule, interrupted(),
                      [&](double share) { session.progress->show("layer by layer", share, 0.9); });
  Result<Counting> counting = Counting::open(record.machine, session.cpus.front(), session.events,
                                             {.max_passes = options.machine.passes});
  if (!counting) return error_of(counting);
  session.progress->show("counting each layer", 0, kMeasuredProgress);
  const PartCounts counts = count_parts(work, *counting, session.seconds_left() / 2, interrupted());

  report::Layers& layers = record.layers.emplace();
  if (!times.work.empty()) layers.clock_ns = times.work.front().clock_ns;
  layers.nothing = counting->evaluate(counts.nothing);
  std::size_t at = 0;
  for (const LayerNet& net : nets) {
    MeasuredForm form{.net = net, .times = nullptr, .errors = {}, .counters = {}};
    if (net.reason().empty()) {
      form.times = &times.work[at];
      for (const Tally& tally : counts.work[at]) {
        form.counters.push_back(counting->evaluate(tally));
      }
      if (layers.forms.empty()) form.errors = layer_errors(net);
      ++at;
    }
    layers.forms.push_back(
        make_layer_form(form, *record.peak, times.peak_gflops, record.threads, counting->limits()));
    for (std::size_t i = 0; i < net.layers().size(); ++i) {
      report::Row& row = layers.forms.back().layers[i].row;
      const Task& task = net.layers()[i].task();
      row.library = session.library_of(task);
      if (options.exact && net.reason().empty() && !interrupted())
        row.exact = session.count_exactly(task, session.library());
    }
  }
  record.partial = record.partial || times.interrupted;
  return {};
}

}  // namespace

Result<void> profile_workload(ProfileSession& session, const NetworkOptions& options) {
  // 1. What the user can get wrong, before anything takes time.
  const Result<std::vector<const NetForm*>> forms = forms_of(options);
  if (!forms) return error_of(forms);
  const std::uint64_t seed = session.options.seed;
  const Result<Network> network = network_of(options, seed);
  if (!network) return error_of(network);
  const Result<std::vector<double>> seconds = against_of(options, *network, *forms->front());
  if (!seconds) return error_of(seconds);
  if (auto fits = check_memory_of(*network, *forms); !fits) return error_of(fits);
  report::Profile& record = session.record;
  record.workload = describe(*network);

  // 2. BLAS, threads, ceilings, verdict.
  if (auto done = session.set_up(); !done) return error_of(done);

  // 3. The network in each form, with the same weights.
  const Result<FloatBuffer> input = network_input(*network, seed);
  if (!input) return error_of(input);
  std::vector<LayerNet> nets;
  for (const NetForm* form : *forms) {
    Result<LayerNet> net = LayerNet::create(*network, *form, input->span(), session.library(),
                                            session.blas.reason, session.team());
    if (!net) return error_of(net);
    nets.push_back(std::move(*net));
  }

  // 4. The inference as a whole, held against double precision where that takes no minutes.
  constexpr double kCheckFlops = 1e9, kCheckBytes = 256e6;  // about a second, and 1 GB of doubles
  std::vector<double> expected;
  const Cost cost = nets.front().cost();
  if (cost.flops <= kCheckFlops && cost.bytes <= kCheckBytes) {
    Result<std::vector<double>> made = expected_output(*network, input->span(), session.team());
    if (!made) return error_of(made);
    expected = std::move(*made);
  }
  std::vector<Task> tasks;
  for (const LayerNet& net : nets) tasks.push_back(whole_of(net, expected));
  // --repeat is for the inferences layer by layer.
  if (auto done = session.measure(
          tasks, {.checked_documents = network->input.front(), .budget_share = kWholeShare});
      !done) {
    return error_of(done);
  }

  for (report::Row& row : record.rows) {  // a whole inference is all of its pass
    row.pass = row.variant;
    if (row.time_ns) row.forward_share = 1;
  }

  // 5. Layer by layer.
  if (auto done = measure_layers(session, nets); !done) return error_of(done);
  if (!options.against.empty()) {
    record.layers->against = make_against(options.against, record.layers->forms.front(), *seconds);
  }

  // 6. The first form again, in regions.
  if (const LayerNet& net = nets.front(); net.reason().empty()) {
    std::vector<const Task*> layers;
    for (const Operation& layer : net.layers()) layers.push_back(&layer.task());
    const RegionTasks inference("inference", layers);
    const std::string what = fmt::format("inferences, {}", net.form().name);
    if (auto done = profile_regions(session, inference.passes(what)); !done) return error_of(done);
  }
  if (expected.empty()) {
    record.warnings.push_back({"whole-unchecked",
                               "the result as a whole was not compared with double precision, "
                               "which would take too long; each layer was, on what it reads"});
  }
  return {};
}

}  // namespace hwprof

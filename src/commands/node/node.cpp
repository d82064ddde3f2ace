// `hwprof node`: which BLAS each running process of the machine has, from the outside.
#include <memory>
#include <optional>
#include <string_view>

#include "counters/machine.h"
#include "counters/machine/affinity.h"
#include "src/base/account.h"
#include "src/blas/evidence/installed.h"
#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/commands/node/look.h"
#include "src/commands/node/watch.h"
#include "src/commands/run/blas.h"
#include "src/report/documents/inspect.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct NodeCommand {
  std::string user;
  bool ladder = true;
  bool watch = false;
  double interval_s = 2;
  Output output;
};

Result<std::optional<uid_t>> wanted_user(const std::string& name) {
  if (name.empty()) return std::nullopt;
  TRY(const Account account, find_account(name));
  return account.uid;
}

// The machine's own BLAS, which serves as the measure of the processes', too.
void measure_machine(const NodeCommand& options, report::Node& node, blas::LoadedContext& context) {
  if (!options.ladder) {
    node.blas_reason = "not measured (--no-ladder)";
    return;
  }
  Result<report::BlasSurvey> survey = survey_blas({}, true);
  if (!survey) {
    node.blas_reason = survey.error().what;
    return;
  }
  context.ladder = survey->blas.ladder;
  node.blas = std::move(survey->blas);
  node.libraries = std::move(survey->libraries);
}

Result<int> run_node(const NodeCommand& options) {
  TRY(report::check_outputs(options.output));
  TRY(const auto user, wanted_user(options.user));
  const Machine machine = probe_machine(allowed_cpus().front());
  blas::LoadedContext context{
      .cpu = blas::visible_cpu(machine), .installed = blas::installed_blas(), .ladder = {}};
  NodeLook looks(machine, user, options.user);
  report::Node node;
  if (!options.watch) {
    // Before anything is measured, which would use the CPUs that they use.
    TRY(node, looks.look());
    measure_machine(options, node, context);
    judge_node(context, node);
    TRY(report::write_report(node, {report::node_document, report::node_json, report::node_csv},
                             options.output));
    return 0;
  }
  // What is measured once is no part of a view that changes.
  measure_machine(options, node, context);
  return watch_pages(
      options.interval_s,
      [&]() -> Result<Page> {
        TRY(report::Node seen, looks.look());
        judge_node(context, seen);
        return Page{report::rendered(report::node_document(seen), options.output), looks.known()};
      },
      [&](std::string_view known) { looks.take_known(known); });
}

}  // namespace

cli::Action node_command(cli::Options& options) {
  auto to = std::make_shared<NodeCommand>();
  options.group(cli::kWork);
  options.value("--user", "NAME", to->user, cli::any_text,
                "Look at this user's processes only; at another's only as root. Default: as root "
                "at all, else at one's own.");
  cli::no_ladder(options, to->ladder);
  const auto watch = options.flag("--watch", to->watch,
                                  "Look again and again, on a terminal in place; q or Ctrl-C ends. "
                                  "Default: look once.");
  options
      .value("--interval", "S", to->interval_s, cli::seconds(cli::kMaxSeconds),
             "Look every S seconds. Default: 2.")
      .needs(watch);
  cli::output(options, to->output, {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown});
  options.check([to]() -> Result<void> {
    if (!to->watch || (to->output.format == Format::kText && to->output.file.empty())) return {};
    return usage_error("--watch prints text on standard output",
                       "leave out --format, --json and -o, or --watch");
  });
  options.footer(
      "Nothing is stopped, probed or sampled: files of /proc are read, so that a\n"
      "library is known to be loaded, not to be called. hwprof attach PID tells the\n"
      "rest.\n"
      "\nhwprof node                       all processes, as root; else one's own\n"
      "sudo hwprof node --user ann --json\n"
      "hwprof node --watch --no-ladder   like top\n"
      "\nExit codes: 0 looked, whatever was found; 2 wrong usage; 3 could not look.");
  return [to](const cli::CommandLine&) -> Result<int> { return run_node(*to); };
}

}  // namespace hwprof

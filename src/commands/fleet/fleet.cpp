#include "src/report/documents/fleet.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "src/base/utc.h"
#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/check/host_facts.h"
#include "src/commands/commands.h"
#include "src/commands/fleet/host_list.h"
#include "src/commands/fleet/merge.h"
#include "src/commands/fleet/records.h"
#include "src/report/data/fleet_writers.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct FleetOptions {
  std::vector<std::string> words;  // merge DIR
  std::string expected, run_id;
  Output output;
};

constexpr const char* kUsage = "hwprof fleet merge --expected HOSTS DIR";

Result<int> run_merge(const FleetOptions& options, const std::string& folder) {
  TRY(report::check_outputs(options.output));
  TRY(const auto expected, expected_hosts(options.expected));
  TRY(const auto records, read_records(folder, expected, options.run_id));
  auto run = run_to_merge(records, options.run_id);
  if (!run) return usage_error(fmt::format("{}: {}", folder, run.error().what), run.error().hint);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  report::Fleet fleet =
      merge(expected, records, *run, std::chrono::duration_cast<std::chrono::seconds>(now).count());
  fleet.version = HWPROF_VERSION;
  fleet.folder = folder;
  fleet.merged_utc = utc_now();
  TRY(report::write_report(fleet, {report::fleet_document, report::fleet_json, report::fleet_csv},
                           options.output));
  return exit_code(fleet);
}

}  // namespace

cli::Action fleet_command(cli::Options& options) {
  auto to = std::make_shared<FleetOptions>();
  options.words("what", "merge DIR", to->words,
                "Merge the records that hwprof check --out DIR has written on many hosts.");
  options.group(cli::kWork);
  options.value(
      "--expected", "HOSTS", to->expected, cli::any_text,
      "The hosts that there are: ranges, node[01-40],login, or a file with a host a line, also as "
      "NAME|STATE|REASON, which sinfo -N -h -o '%N|%T|%E' prints. Default: none, "
      "it must be given.");
  options.value("--run-id", "ID", to->run_id, run_id_in,
                "Count the records of this run; a host with others alone is stale. Default: the "
                "only run that the folder has.");
  cli::output(options, to->output,
              {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml});
  options.footer(
      "hwprof fleet merge --expected 'node[01-40]' /shared/blas\n"
      "hwprof fleet merge --expected hosts.txt --run-id 2026-11-27 /shared/blas\n"
      "    -o report.html\n"
      "\nOf each host: pass, fail, unknown (its check could not tell), stale (records of\n"
      "other runs alone), unreadable, no_record, unavailable (the list says why).\n"
      "\nExit codes: 0 all pass, 1 some fail, 2 wrong usage or input, 3 incomplete: none\n"
      "fails, and not all pass.");
  return [to](const cli::CommandLine&) -> Result<int> {
    if (to->words.empty() || to->words.front() != "merge") {
      return usage_error(to->words.empty()
                             ? std::string("what to do with the fleet is missing")
                             : fmt::format("unexpected argument '{}'", to->words.front()),
                         kUsage);
    }
    if (to->words.size() != 2) {
      return usage_error(to->words.size() < 2
                             ? std::string("the folder with the records is missing")
                             : fmt::format("unexpected argument '{}'", to->words[2]),
                         kUsage);
    }
    if (to->expected.empty())
      return usage_error(
          "--expected is missing: a host without a record is only missed where it "
          "was expected",
          kUsage);
    return run_merge(*to, to->words[1]);
  };
}

}  // namespace hwprof

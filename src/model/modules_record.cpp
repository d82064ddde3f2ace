#include "src/model/modules_record.h"

namespace hwprof::model {
namespace {

void take_call_provider(ModuleCall& to, const Scalar& from) {
  if (const auto* name = std::get_if<std::string_view>(&from))
    to.provider = report::provider_named(*name);
}

}  // namespace

template <>
const Record& record<ModuleCall>() {
  static constexpr Field kFields[] = {
      field<&ModuleCall::routine>("routine", "", "its symbol; of oneDNN what its primitive does"),
      field<&ModuleCall::library>("library", "", "file that served it"),
      field<&ModuleCall::provider, report::name_of>("provider", "", "of that library")
          .read_by<take_call_provider>(),
      field<&ModuleCall::core>("core", "",
                               "that the library had chosen; of oneDNN the most that it uses")
          .null_if_empty(),
      field<&ModuleCall::kernel>("kernel", "", "that oneDNN had chosen; null: not known")
          .null_if_empty(),
      field<&ModuleCall::type>("type", "", "of its numbers; null: as the routine's name says")
          .null_if_empty(),
      field<&ModuleCall::threads>("threads", "", "of that library; null: not known"),
      field<&ModuleCall::calls>("calls", "", ""),
      field<&ModuleCall::time_ns>("time_ns", "ns", "inside them; null: not timed"),
      field<&ModuleCall::gflops>("gflops", "GFLOP/s", "null: the shapes do not tell the FLOP"),
      field<&ModuleCall::peak_fraction>("peak_fraction", "", "of that many cores' peak"),
      field<&ModuleCall::peak_fraction_reason>("peak_fraction_reason", "", "why it is null")
          .null_if_empty(),
      field<&ModuleCall::shapes>("shapes", "", "most FLOP first"),
  };
  static constexpr Record kRecord{
      "ModuleCall", "What a module itself called: one routine of one library.", kFields};
  return kRecord;
}

template <>
const Record& record<Module>() {
  static constexpr Field kFields[] = {
      field<&Module::name>("name", "", "in its model; the backward pass is a row of its own"),
      field<&Module::type>("type", "", "class; null: several").null_if_empty(),
      field<&Module::shape>("shape", "", "of its inputs; null: several, or none").null_if_empty(),
      field<&Module::occurrence>("occurrence", "", "calls that ended"),
      field<&Module::total_ns>("total_ns", "ns", "with the modules in it"),
      field<&Module::self_ns>("self_ns", "ns", "without"),
      field<&Module::total_share>("total_share", "", "of the program's wall time"),
      field<&Module::self_share>("self_share", "", "of the same"),
      field<&Module::flops>("flops", "FLOP", "by the model, over all calls"),
      field<&Module::flops_reason>("flops_reason", "", "why it is null").null_if_empty(),
      field<&Module::gflops>("gflops", "GFLOP/s", ""),
      field<&Module::peak_fraction>("peak_fraction", "", "of the peak of `module_hooks.cores`"),
      by_name<&Module::counts, &RegionCount::name>("counters", "", "by event"),
      field<&Module::calls>("calls", "", "of a BLAS or oneDNN, longest first"),
      field<&Module::calls_reason>("calls_reason", "", "why they are not known").null_if_empty(),
      field<&Module::evidence>("evidence", "", "who computed it, in words").null_if_empty(),
  };
  static constexpr Record kRecord{"Module", "A layer of a framework, with all its calls.", kFields};
  return kRecord;
}

template <>
const Record& record<ModuleHooks>() {
  static constexpr Field kFields[] = {
      field<&ModuleHooks::processes>("processes", "", "of a Python"),
      field<&ModuleHooks::with_modules>("with_modules", "", "in which modules were watched"),
      field<&ModuleHooks::torch>("torch", "", "version of PyTorch; null: none").null_if_empty(),
      field<&ModuleHooks::onednn>(
          "onednn", "", "the most that it computes with, by its own word; null: not known")
          .null_if_empty(),
      field<&ModuleHooks::hooks>("hooks", "", "that ran"),
      field<&ModuleHooks::cost_ns>("cost_ns", "ns", "null: not all processes told it"),
      field<&ModuleHooks::cost_share>("cost_share", "", "of the program's wall time"),
      field<&ModuleHooks::cores>("cores", "", "whose peak a module's fraction is of"),
      field<&ModuleHooks::notes>("notes", "", "what is missing, and why"),
  };
  static constexpr Record kRecord{"ModuleHooks", "How the modules were watched.", kFields};
  return kRecord;
}

}  // namespace hwprof::model

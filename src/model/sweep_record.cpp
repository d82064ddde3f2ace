#include "src/model/sweep_record.h"

namespace hwprof::model {

template <>
const Record& record<SweptSize>() {
  static constexpr Field kFields[] = {
      field<&SweptSize::name>("name", "", "`n`"),
      field<&SweptSize::low>("low", "", ""),
      field<&SweptSize::high>("high", "", ""),
  };
  static constexpr Record kRecord{"Range", "A size that is swept.", kFields};
  return kRecord;
}

template <>
const Record& record<ScalingLaw>() {
  static constexpr Field kFields[] = {
      field<&ScalingLaw::quantity>("quantity", "",
                                   "`time`, or `flop`: counted by the PMU, "
                                   "`exact-flop`: by `--exact`"),
      field<&ScalingLaw::size>("size", "", "`n`"),
      field<&ScalingLaw::held>("held", "",
                               "the other swept size (`k=8`), or `joint`: both in one fit")
          .null_if_empty(),
      field<&ScalingLaw::exponent>("exponent", "", "null: `reason`").column("exponent"),
      interval<&ScalingLaw::low, &ScalingLaw::high>("ci95", "", "of the exponent")
          .column("exponent_#"),
      field<&ScalingLaw::model_exponent>("model_exponent", "",
                                         "the same fit of the model over the same sizes")
          .column("model_exponent"),
      field<&ScalingLaw::from>("from", "", "smallest size of the fit")
          .null_if_empty()
          .column("from"),
      field<&ScalingLaw::to>("to", "", "largest size of the fit").null_if_empty().column("to"),
      field<&ScalingLaw::points>("points", "", "of the fit").column("points"),
      field<&ScalingLaw::agrees>("agrees", "", "null: not judged").column("agrees"),
      field<&ScalingLaw::text>("text", "", "the verdict in words").column("text"),
      field<&ScalingLaw::causes>("causes", "", "of what does not agree, a sentence each"),
      field<&ScalingLaw::reason>("reason", "", "why there is no exponent").null_if_empty(),
  };
  static constexpr Record kRecord{"Law", "One quantity against one size: quantity ~ size^exponent.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<SweepPoint>() {
  static constexpr Field kFields[] = {
      field<&SweepPoint::at>("at", "", "the swept sizes"),
      field<&SweepPoint::working_set_bytes>("working_set_bytes", "B", "of the model")
          .column("working_set_bytes"),
      field<&SweepPoint::level>("level", "", "the fastest that holds it: `L2`")
          .null_if_empty()
          .column("working_set_level"),
      field<&SweepPoint::model_ns>("model_ns", "ns", "cost units by the median time of one")
          .column("model_ns"),
      field<&SweepPoint::time_to_model>("time_to_model", "", "median time over that")
          .column("time_to_model"),
      spliced<&SweepPoint::row>(Field::kOfForwardPass | Field::kOfDocuments),
  };
  static constexpr Record kRecord{"Point", "", kFields};
  return kRecord;
}

template <>
const Record& record<Sweep>() {
  static constexpr Field kFields[] = {
      field<&Sweep::run, &Profile::version>("hwprof.version", "", "of hwprof"),
      field<&Sweep::run, &Profile::command>("command", "", "its words"),
      field<&Sweep::run, &Profile::started_utc>("started_utc", "", "ISO 8601"),
      field<&Sweep::run, &Profile::elapsed_s>("elapsed_s", "s", "of the whole run"),
      field<&Sweep::run, &Profile::partial>("partial", "", "interrupted: points may be missing"),
      field<&Sweep::run, &Profile::machine>("machine", "", ""),
      field<&Sweep::run, &Profile::pin>("pin", "", ""),
      field<&Sweep::run, &Profile::threads>("threads", "", "that compute"),
      field<&Sweep::run, &Profile::simd_target>("simd_target", "", "").null_if_empty(),
      field<&Sweep::run, &Profile::peak>("peak", "", ""),
      field<&Sweep::op>("op", "", "what was measured"),
      field<&Sweep::variant>("variant", "", ""),
      field<&Sweep::asked>("asked", "", "the operation in the user's words, where they are others")
          .null_if_empty(),
      field<&Sweep::held>("shape", "", "sizes that stay"),
      field<&Sweep::swept>("swept", "", "one or two"),
      field<&Sweep::agrees>("agrees", "",
                            "of time, in every swept size; null: not judged, `text` says why")
          .column("agrees"),
      field<&Sweep::tolerance>(
          "tolerance", "",
          "of the exponent: the whole interval within it of the model's agrees, the "
          "whole beyond it is refused, else it is not judged"),
      field<&Sweep::text>("text", "", "the verdict in words"),
      field<&Sweep::laws>("laws", "", ""),
      field<&Sweep::points>("points", "", "as a row of the profile, with its sizes"),
      field<&Sweep::blas>("blas", "",
                          "of a variant that uses one, else null; no ladder is climbed for it"),
      field<&Sweep::run, &Profile::warnings>("warnings", "", ""),
  };
  static constexpr Record kRecord{"Sweep", "How time and FLOP grow with a size.", kFields,
                                  "hwprof.sweep/1"};
  return kRecord;
}

}  // namespace hwprof::model

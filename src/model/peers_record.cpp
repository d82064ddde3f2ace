#include "src/model/peers_record.h"

namespace hwprof::model {

template <>
const Record& record<Peer>() {
  static constexpr Field kFields[] = {
      field<&Peer::name>("name", "", "who, and by which routine: `onednn`, `openblas-gemm`"),
      field<&Peer::file>("file", "", "that it was read from"),
      field<&Peer::op>("op", "", "of the row whose work it does"),
      field<&Peer::shape>("shape", "", "of that row"),
      field<&Peer::threads>("threads", "", "of that row"),
      field<&Peer::time_ns>("time_ns", "ns", "of one call, the median"),
      interval<&Peer::time_low_ns, &Peer::time_high_ns>(
          "time_ci95", "ns", "of the median of such runs; nulls: bench/ has none"),
      field<&Peer::flops>("flops", "FLOP", "of one call, by the model of the row"),
      field<&Peer::bytes>("bytes", "B", "the same"),
      field<&Peer::gflops>("gflops", "GFLOP/s", "those FLOP over that time"),
      interval<&Peer::gflops_low, &Peer::gflops_high>("gflops_ci95", "GFLOP/s",
                                                      "by the ends of the time's interval"),
      field<&Peer::intensity>("intensity", "FLOP/B", "of the model"),
  };
  static constexpr Record kRecord{"Peer", "Another way to do the work of a row.", kFields};
  return kRecord;
}

template <>
const Record& record<Peers>() {
  static constexpr Field kFields[] = {
      field<&Peers::points>("points", "", "of the same work as a row"),
      field<&Peers::left_out>("left_out", "",
                              "a sentence for each file of which something is no point, with why"),
  };
  static constexpr Record kRecord{
      "Peers", "What `hwprof report` adds to a profile from the JSON of bench/.", kFields};
  return kRecord;
}

}  // namespace hwprof::model

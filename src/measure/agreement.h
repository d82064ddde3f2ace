// Does the time agree with the complexity analysis? The question of the course project, answered
// from the measured rows. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/model/record.h"

namespace hwprof {

// A variant further than this from its roofline time has a cost that the model does not know.
inline constexpr double kRooflineFactor = 3;

// The sum of the layers' medians for each of `passes`, all of whose layers were measured.
std::vector<report::ForwardPass> forward_passes(const std::vector<report::Row>& rows,
                                                const std::vector<report::PassVariants>& passes);

// Sets forward_share of each row that belongs to one of `passes`.
void set_forward_shares(std::vector<report::Row>& rows,
                        const std::vector<report::ForwardPass>& passes);

// Agrees when, in the fastest forward pass that keeps the layers apart, they stand in the same
// order by time as by cost units (an order that the 95 % intervals leave open is no disagreement),
// and every optimised variant is within kRooflineFactor of its roofline time. `blas_factor`: how
// many times faster the loaded BLAS could be, from the ladder.
report::Complexity complexity_agreement(const std::vector<report::Row>& rows,
                                        const std::vector<report::ForwardPass>& passes,
                                        std::optional<double> blas_factor);

}  // namespace hwprof

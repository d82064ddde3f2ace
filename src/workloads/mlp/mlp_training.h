// The training loop of MXNet's C++ example: next batch, copy in, forward, backward, update; after
// an epoch the accuracy on held-out images. Each of these is a region: epoch > step > data >
// next-batch, copy-in; epoch > step > forward, backward, update; epoch > accuracy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/workloads/inputs/image_set.h"
#include "src/workloads/mlp/mlp.h"

namespace hwprof {

struct EpochResult {
  bool whole = false;   // not ended by `stop`; else the rest says nothing
  double loss = 0;      // mean over the images, each before the update of its batch
  double train_s = 0;   // the steps, without the accuracy
  double accuracy = 0;  // share of `held_out` that is right after the epoch
};

// Image numbers in the order in which all epochs go through them (MXNet's iterator shuffles once).
std::vector<std::uint32_t> training_order(const ImageSet& set, std::uint64_t seed);

EpochResult train_epoch(Mlp& mlp, const ImageSet& set, std::span<const std::uint32_t> order,
                        const ImageSet& held_out, const Sgd& sgd, const std::atomic<bool>& stop);

}  // namespace hwprof

// ResNet20 for CIFAR-10, one image, as the layer table of the homework report has it
// (tests/data/resnet20_chainer.csv): a block is conv bn relu conv bn relu; only the two whose
// stride is 2 have a shortcut, a 1x1 convolution with bn on the block's input, and an add. So 66
// layers, 21 of them convolutions and 2 adds.
#pragma once

#include "src/workloads/networks/layer_graph.h"

namespace hwprof {

LayerGraph resnet20();

}  // namespace hwprof

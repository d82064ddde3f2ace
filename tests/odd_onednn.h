// What odd_onednn.cpp takes for a primitive.
#pragma once

struct OddTensor {
  int dimensions;
  long sizes[12];
};

struct OddPrimitive {
  int kind;
  const char* implementation;
  OddTensor source, weights, result;
};

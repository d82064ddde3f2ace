// The hand-written kernels need next to no memory of their own: they allocate nothing, and their
// stack stays small. Allocations are counted by replacing the allocator in this program, the stack
// by painting it.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/simd/simd.h"
#include "kernels/tensor.h"
#include "tests/conv1d_data.h"
#include "tests/only_targets.h"

namespace {

std::atomic<std::size_t> g_allocated_bytes{0};

void* count(void* memory, std::size_t bytes) {
  g_allocated_bytes += bytes;
  return memory;
}

}  // namespace

// --wrap of the linker (tests/meson.build): what is linked statically, as the kernels are, calls
// these in place of the C library's.
extern "C" {
void* __real_malloc(std::size_t);                      // NOLINT(readability-identifier-naming)
void* __real_calloc(std::size_t, std::size_t);         // NOLINT(readability-identifier-naming)
void* __real_aligned_alloc(std::size_t, std::size_t);  // NOLINT(readability-identifier-naming)
void* __wrap_malloc(std::size_t bytes) {               // NOLINT(readability-identifier-naming)
  return count(__real_malloc(bytes), bytes);
}
void* __wrap_calloc(std::size_t n, std::size_t bytes) {  // NOLINT(readability-identifier-naming)
  return count(__real_calloc(n, bytes), n * bytes);
}
// NOLINTNEXTLINE(readability-identifier-naming)
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return count(__real_aligned_alloc(alignment, bytes), bytes);
}
}

void* operator new(std::size_t bytes) {
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hwprof {
namespace {

constexpr std::size_t kMiB = 1 << 20;

std::size_t allocated_by(const std::function<void()>& work) {
  const std::size_t before = g_allocated_bytes;
  work();
  return g_allocated_bytes - before;
}

// Deepest byte of the stack that `work` writes, on a thread of its own.
std::size_t stack_of(const std::function<void()>& work) {
  constexpr std::size_t kBytes = 4 * kMiB, kAlignment = 4096;
  constexpr unsigned char kPaint = 0xa5;
  auto* stack = static_cast<unsigned char*>(std::aligned_alloc(kAlignment, kBytes));
  std::fill_n(stack, kBytes, kPaint);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kBytes);
  pthread_t thread = {};
  const auto start = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&work)),
            0);
  pthread_join(thread, nullptr);
  const unsigned char* deepest =
      std::find_if(stack, stack + kBytes, [](unsigned char byte) { return byte != kPaint; });
  const auto used = static_cast<std::size_t>(stack + kBytes - deepest);
  std::free(stack);
  pthread_attr_destroy(&attributes);
  return used;
}

// The thread's own frame and thread-local storage are in it, some KiB.
void expect_little_memory(const std::string& name, const std::function<void()>& work) {
  EXPECT_EQ(allocated_by(work), 0U) << name << " " << simd_target();
  EXPECT_LT(stack_of(work), kMiB) << name << " " << simd_target();
}

TEST(KernelMemory, TheInstrumentsSeeAllocationsAndStack) {
  EXPECT_GE(allocated_by([] { const std::vector<float> scratch(1000); }), 4000U);
  EXPECT_GE(allocated_by([] { EXPECT_TRUE(FloatBuffer::zeros(1000).has_value()); }), 4000U);
  EXPECT_GE(stack_of([] {
              volatile char scratch[kMiB];
              for (std::size_t i = 0; i < kMiB; i += 64) scratch[i] = 1;
              EXPECT_EQ(scratch[0], 1);
            }),
            kMiB);
}

TEST(KernelMemory, TheConvolutionsOfTextTakeUnderAMebibyteAThread) {
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (const std::size_t threads : {1, 3}) {
      ThreadTeam team(threads, {});
      const Conv1dData data({8, 300, 500}, {124, 60, 9}, 0);
      const GuardedFloats packed = data.packed_for(conv1d_variants()[1]);
      GuardedFloats h(data.positions() * data.shape.d_c), g(data.documents() * data.shape.d_c);
      expect_little_memory(
          "conv1d", [&] { conv1d_simd({.input = data.input(packed, team), .h = h.data()}); });
      expect_little_memory("conv1d-maxpool", [&] {
        conv1d_maxpool_fused(
            {.input = data.input(packed, team), .g = g.data(), .g_stride = data.shape.d_c});
      });
    }
  }
}

TEST(KernelMemory, TheOtherLayersTakeUnderAMebibyteAThread) {
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (const std::size_t threads : {1, 3}) {
      ThreadTeam team(threads, {});
      const std::size_t start[] = {0, 300, 420};
      const GuardedFloats x(420 * 512), w(512 * 1000), channel(512);
      GuardedFloats y(420 * 1000);
      expect_little_memory("maxpool", [&] {
        maxpool_simd({.d_c = 512,
                      .start = start,
                      .h = x.data(),
                      .g = y.data(),
                      .g_stride = 512,
                      .team = &team});
      });
      GuardedFloats packed(linear_simd_packed_floats({512, 1000}));
      linear_simd_pack({512, 1000}, w.data(), packed.data());
      expect_little_memory("linear", [&] {
        linear_simd({.shape = {512, 1000},
                     .documents = 420,
                     .g = x.data(),
                     .packed = packed.data(),
                     .c = w.data(),
                     .z = y.data(),
                     .team = &team});
      });
      const Conv2dShape shape{16, 16, 64, 64, 3, 1};
      const BatchnormParameters bn{channel.data(), channel.data(), channel.data(), channel.data()};
      GuardedFloats filters(conv2d_bn_relu_packed_floats(shape));
      conv2d_bn_relu_pack(shape, {w.data(), bn}, filters.data());
      expect_little_memory("conv2d + bn + relu", [&] {
        conv2d_bn_relu_fused({.shape = shape,
                              .images = 2,
                              .x = x.data(),
                              .weights = {w.data(), bn},
                              .packed = filters.data(),
                              .addend = w.data(),
                              .y = y.data(),
                              .team = &team});
      });
      expect_little_memory("layers by element", [&] {
        batchnorm_simd({.pixels = 400,
                        .channels = 512,
                        .x = x.data(),
                        .bn = bn,
                        .y = y.data(),
                        .team = &team});
        relu_simd({.count = x.size(), .x = x.data(), .y = y.data(), .team = &team});
        add_simd({.count = x.size(), .a = x.data(), .b = w.data(), .y = y.data(), .team = &team});
        average_pool_simd({.images = 2,
                           .pixels = 200,
                           .channels = 512,
                           .x = x.data(),
                           .y = y.data(),
                           .team = &team});
        softmax_simd({.rows = 400, .columns = 512, .x = x.data(), .y = y.data(), .team = &team});
      });
    }
  }
}

}  // namespace
}  // namespace hwprof

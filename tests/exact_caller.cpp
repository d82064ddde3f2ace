// Calls routines of a BLAS that hwprof is asked to count, or counts one by itself, without hwprof:
// what both must agree on. Exit 0: results, errno and floating-point state are as they should be.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "src/exact/exact.h"

// NOLINTBEGIN(readability-identifier-naming): names of a BLAS
extern "C" {
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                 float*, int);
double cblas_ddot(int, const double*, int, const double*, int);
std::size_t cblas_idamax(int, const double*, int);
}
// NOLINTEND(readability-identifier-naming)

namespace {

using hwprof::exact::Counts;

struct Product {
  explicit Product(int n) : n(n), a(size(), 1.0F), b(size(), 2.0F), c(size(), -1.0F) {}
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  }
  void run() {
    constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
    cblas_sgemm(kRowMajor, kPlain, kTransposed, n, n, n, 0.5F, a.data(), n, b.data(), n, 0.0F,
                c.data(), n);
  }
  [[nodiscard]] bool is_right() const {
    for (const float value : c) {
      if (value != static_cast<float>(n)) return false;
    }
    return true;
  }
  int n;
  std::vector<float> a, b, c;
};

int products(int n, int times) {
  Product product(n);
  for (int i = 0; i < times; ++i) product.run();
  return product.is_right() ? 0 : 3;
}

std::string file_of(const void* address) {
  Dl_info found{};
  return ::dladdr(address, &found) != 0 ? found.dli_fname : "";
}

// Prints what the second call executes outside this program's file, by its own counting.
int reference(int n) {
  Product product(n);
  product.run();
  const auto counted = hwprof::exact::count([&] { product.run(); });
  if (!counted) {
    std::fprintf(stderr, "%s\n", counted.error().what.c_str());
    return 4;
  }
  const std::string own = file_of(reinterpret_cast<const void*>(&file_of));
  Counts counts;
  for (const auto& block : counted->blocks) {
    if (file_of(reinterpret_cast<const void*>(block.address)) != own) counts += block.counts;
  }
  std::printf("{\"instructions\": %llu, \"flops\": %llu, \"at_256\": %llu, \"loaded\": %llu}\n",
              static_cast<unsigned long long>(counts.instructions),
              static_cast<unsigned long long>(counts.total_flops()),
              static_cast<unsigned long long>(counts.flops_at(hwprof::exact::Width::k256)),
              static_cast<unsigned long long>(counts.bytes_loaded));
  return product.is_right() ? 0 : 3;
}

// A thread that works all the time.
int threads(int n) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) std::this_thread::yield();
  });
  const int result = products(n, 1);
  stop = true;
  other.join();
  return result;
}

// A child makes the first call, its parent the second.
int forks(int n) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(products(n, 1));
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) return 5;
  return products(2 * n, 1);
}

// In a thread of the least stack that there is.
int small_stack(int n) {
  static int result = 5;
  static Product product(n);
  pthread_attr_t attributes;
  pthread_t thread{};
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  const auto body = [](void*) -> void* {
    product.run();
    return nullptr;
  };
  if (::pthread_create(&thread, &attributes, body, nullptr) == 0) {
    ::pthread_join(thread, nullptr);
    result = product.is_right() ? 0 : 3;
  }
  pthread_attr_destroy(&attributes);
  return result;
}

// A process whose files may have no more than so many bytes.
int limited_files(int bytes) {
  const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 ? products(33, 1) : 5;
}

// What a routine returns in a vector register and in a general one, its errno and its rounding.
int results() {
  const std::vector<double> x = {1, -4, 2}, y = {3, 1, 5};
  if (std::fesetround(FE_UPWARD) != 0) return 5;
  errno = 123;
  const double dot = cblas_ddot(3, x.data(), 1, y.data(), 1);
  if (errno != 123) return 6;
  if (std::fegetround() != FE_UPWARD) return 7;
  if (std::fetestexcept(FE_ALL_EXCEPT) != 0) return 8;
  if (dot != 9) return 9;
  return cblas_idamax(3, x.data(), 1) == 1 ? 0 : 10;
}

}  // namespace

int main(int count, char** words) {
  const std::string way = count > 1 ? words[1] : "";
  const int n = count > 2 ? std::atoi(words[2]) : 33, times = count > 3 ? std::atoi(words[3]) : 1;
  if (way == "products") return products(n, times);
  if (way == "reference") return reference(n);
  if (way == "threads") return threads(n);
  if (way == "forks") return forks(n);
  if (way == "results") return results();
  if (way == "small-stack") return small_stack(n);
  if (way == "limited-files") return limited_files(n);
  return 2;
}

// Products by Eigen's own kernels: numeric work, and no BLAS anywhere.
#include <Eigen/Dense>
#include <chrono>
#include <cstdio>

int main() {
  const Eigen::MatrixXf a = Eigen::MatrixXf::Random(384, 384);
  Eigen::MatrixXf c = Eigen::MatrixXf::Zero(384, 384);
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(1)) c.noalias() += a * a;
  std::printf("%g\n", static_cast<double>(c(0, 0)));
}

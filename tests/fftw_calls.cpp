// Transforms of a real FFTW, each a known number of times, by the interfaces that there are.
#include <fftw3.h>

#include <vector>

int main() {
  std::vector<double> real(1 << 16, 0.5);
  std::vector<float> single(1 << 12, 0.5F);
  auto* in = reinterpret_cast<fftw_complex*>(real.data());
  fftw_complex* out = fftw_alloc_complex(1 << 15);
  if (out == nullptr) return 1;

  fftw_plan line = fftw_plan_dft_1d(1024, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
  for (int i = 0; i < 30; ++i) fftw_execute(line);
  fftw_destroy_plan(line);

  const int sizes[] = {64, 32};
  fftw_plan pages = fftw_plan_many_dft_r2c(2, sizes, 8, real.data(), nullptr, 1, 64 * 32, out,
                                           nullptr, 1, 64 * 17, FFTW_ESTIMATE);
  for (int i = 0; i < 20; ++i) fftw_execute_dft_r2c(pages, real.data(), out);
  fftw_destroy_plan(pages);

  fftw_plan cube = fftw_plan_dft_c2r_3d(8, 16, 4, out, real.data(), FFTW_ESTIMATE);
  for (int i = 0; i < 10; ++i) fftw_execute(cube);
  fftw_destroy_plan(cube);

  const fftw_iodim64 of{100, 1, 1}, many[] = {{2, 300, 300}, {3, 100, 100}};
  fftw_plan guru = fftw_plan_guru64_dft(1, &of, 2, many, in, out, FFTW_BACKWARD, FFTW_ESTIMATE);
  for (int i = 0; i < 5; ++i) fftw_execute_dft(guru, in, out);
  fftw_destroy_plan(guru);

  fftw_plan cosine = fftw_plan_r2r_1d(500, real.data(), real.data(), FFTW_REDFT10, FFTW_ESTIMATE);
  for (int i = 0; i < 3; ++i) fftw_execute_r2r(cosine, real.data(), real.data());
  fftw_destroy_plan(cosine);

  auto* complex = reinterpret_cast<fftwf_complex*>(single.data());
  fftwf_plan plane = fftwf_plan_dft_2d(16, 32, complex, complex, FFTW_BACKWARD, FFTW_ESTIMATE);
  for (int i = 0; i < 7; ++i) fftwf_execute(plane);
  fftwf_destroy_plan(plane);
  fftw_free(out);
}

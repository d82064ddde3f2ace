// Plans that tell nothing, or lie where another one lay. Exit 0: each call was as it is alone.

// NOLINTBEGIN(readability-identifier-naming): names of FFTW
extern "C" {
void* fftw_plan_dft(int, const int*, void*, void*, int, unsigned);
void* fftw_plan_guru_dft(int, const int*, int, const int*, void*, void*, int, unsigned);
void* fftw_plan_many_dft(int, const int*, int, void*, const int*, int, int, void*, const int*, int,
                         int, int, unsigned);
void fftw_execute(const void*);
int odd_executions();
}
// NOLINTEND(readability-identifier-naming)

namespace {

void execute(const void* plan, int times) {
  for (int i = 0; i < times; ++i) fftw_execute(plan);
}

}  // namespace

int main() {
  static char places[8000];
  const int sizes[] = {12, 8, 16};
  execute(fftw_plan_dft(2, reinterpret_cast<const int*>(0x100000), &places[0], nullptr, -1, 0), 3);
  execute(fftw_plan_dft(-3, sizes, &places[0], nullptr, -1, 0), 1);
  execute(fftw_plan_dft(1000, sizes, &places[0], nullptr, -1, 0), 1);
  execute(fftw_plan_dft(2, sizes, &places[1], nullptr, -1, 0), 5);
  execute(fftw_plan_dft(1, sizes, &places[1], nullptr, -1, 0), 7);  // where the other one lay
  execute(&places[2], 2);                                           // made by nobody
  if (fftw_plan_dft(1, sizes, nullptr, nullptr, -1, 0) != nullptr) return 1;
  void* many =
      fftw_plan_many_dft(1, sizes, 3, &places[3], sizes, 6, 7, nullptr, sizes + 1, 10, 11, 1, 13);
  if (many != &places[3]) return 2;
  execute(many, 9);
  // Two dimensions of batches with strides of no account.
  const int dimension[] = {6, 0, 0}, batches[] = {2, 9, 9, 5, 9, 9};
  execute(fftw_plan_guru_dft(1, dimension, 2, batches, &places[4], nullptr, 1, 0), 4);
  // More plans than there is room for: each was made of 16.
  for (int i = 0; i < 6000; ++i) fftw_plan_dft(1, sizes + 2, &places[1000 + i], nullptr, -1, 0);
  for (int i = 0; i < 6000; ++i) execute(&places[1000 + i], 1);
  return odd_executions() == 32 + 6000 ? 0 : 3;
}

// A FFTW whose plans lie where its caller wants them: for odd_fftw_calls.cpp.

namespace {
int executed = 0;
}

// NOLINTBEGIN(readability-identifier-naming): names of FFTW
extern "C" {

void* fftw_plan_dft(int /*rank*/, const int* /*n*/, void* in, void* /*out*/, int /*sign*/,
                    unsigned /*flags*/) {
  return in;
}

void* fftw_plan_guru_dft(int /*rank*/, const int* /*dims*/, int /*many_rank*/, const int* /*many*/,
                         void* in, void* /*out*/, int /*sign*/, unsigned /*flags*/) {
  return in;
}

// All thirteen arguments, as its caller passed them.
void* fftw_plan_many_dft(int rank, const int* n, int howmany, void* in, const int* inembed,
                         int istride, int idist, void* out, const int* onembed, int ostride,
                         int odist, int sign, unsigned flags) {
  const bool same = rank == 1 && n[0] == 12 && howmany == 3 && inembed == n && istride == 6 &&
                    idist == 7 && out == nullptr && onembed == n + 1 && ostride == 10 &&
                    odist == 11 && sign == 1 && flags == 13;
  return same ? in : nullptr;
}

void fftw_execute(const void* /*plan*/) { ++executed; }
int odd_executions() { return executed; }
}
// NOLINTEND(readability-identifier-naming)

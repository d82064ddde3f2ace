// The part of a fix that is a changed environment, and can be tried by running the program again.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hwprof::blas {

// From the words of a fix ("unset A B; export C=D, or ..."; a library that is selected for all
// programs, which LD_LIBRARY_PATH gives to one): NAME=value, or NAME alone where it is to be unset.
// Empty: it is of another kind (a package, another line of the program).
std::vector<std::string> changes_to_try(std::string_view fix);

// The parts of a fix that are no such change; "" where all of it can be tried.
std::string not_to_try(std::string_view fix);

// What the names of variables begin with that say which BLAS is loaded and how it works.
std::vector<std::string> shaping_variables();

// "OPENBLAS_NUM_THREADS=1, LD_LIBRARY_PATH unset"
std::string changes_in_words(const std::vector<std::string>& changes);
// "export OPENBLAS_NUM_THREADS=1; unset LD_LIBRARY_PATH", for a shell.
std::string job_line(const std::vector<std::string>& changes);

}  // namespace hwprof::blas

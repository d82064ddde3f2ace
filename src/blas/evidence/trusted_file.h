// What hwprof may load into a process of its own, though it did not come with it.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace hwprof::blas {

// Why hwprof must not run what is in this file: others than `owners` could have written it. Empty:
// it may. Root and this user are always among the owners.
std::string why_not_to_load(const std::string& path, std::set<uid_t> owners = {});

}  // namespace hwprof::blas

// How hwprof was started, whatever it has changed in itself since.
#pragma once

namespace hwprof {

// A worker that has given its rights away belongs to root all the same.
bool launched_by_root();

}  // namespace hwprof

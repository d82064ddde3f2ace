// as_user PROGRAM [ARGUMENT ...]: runs it as uid and gid 1000, without capabilities. The guest's
// busybox has no su.
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  constexpr unsigned kUser = 1000;
  if (argc < 2 || setgid(kUser) != 0 || setuid(kUser) != 0) {
    std::perror("as_user");
    return 127;
  }
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}

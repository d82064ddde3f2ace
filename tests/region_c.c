/* The C interface from C, against the shared library; 0 when all is well. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "counters/regions/hwprof.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                               \
    }                                                                         \
  } while (0)

int main(void) {
  CHECK(strcmp(hwprof_version(), HWPROF_VERSION) == 0);
  CHECK(hwprof_start("no-such-event") != NULL);
  CHECK(hwprof_start("page-faults") == NULL);
  for (int i = 0; i < 3; ++i) {
    const hwprof_region outer = hwprof_enter("outer");
    const hwprof_region inner = hwprof_enter("inner");
    CHECK(outer != 0 && inner != 0 && outer != inner);
    hwprof_declare(inner, 2e6, 8e6);
    hwprof_leave(inner);
    hwprof_leave(outer);
  }
  char* json = hwprof_report(HWPROF_JSON);
  CHECK(json != NULL);
  CHECK(strstr(json, "hwprof.regions/1") != NULL);
  CHECK(strstr(json, "\"path\": [\"outer\", \"inner\"]") != NULL);
  CHECK(strstr(json, "\"flops\": 6000000") != NULL);
  hwprof_free(json);
  char* text = hwprof_report(HWPROF_TEXT);
  CHECK(text != NULL && strstr(text, "  inner") != NULL);
  hwprof_free(text);
  hwprof_free(NULL);
  const char path[] = "region_c_report.txt";
  CHECK(hwprof_write(path, HWPROF_TEXT) == NULL);
  CHECK(access(path, R_OK) == 0);
  CHECK(unlink(path) == 0);
  CHECK(hwprof_write(NULL, HWPROF_TEXT) != NULL);
  return 0;
}

"""Addresses of routines that the loader writes where the audit library must look before it reads or
writes: the program runs as without it, and its calls are counted, or it is said that they are not."""

import os
import platform
import struct

import harness
from coverage_harness import CoverageTest, PRODUCT, called, count
from evidence_harness import needs_samples
from probed_test import CALLER, CHOSEN, WITHOUT_TYPE

# Calls by a table of addresses in a section that is only read, which begins with IN bytes.
READ_ONLY = r"""
typedef void (*Product)(const char*, const char*, const int*, const int*, const int*, const float*,
                        const float*, const int*, const float*, const int*, const float*, float*,
                        const int*);
#ifdef SECTION
__asm__(".section " SECTION "\n .balign 4096\n .skip " IN "\nproducts: .quad sgemm_\n"
        " .skip 8192\n .previous\n");
extern const char products[] __attribute__((visibility("hidden")));
#else
extern void sgemm_();
static void (*volatile products[])() = {sgemm_};
#endif
__attribute__((visibility("default"))) int work(int times) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  Product product;
  __builtin_memcpy(&product, (const void* volatile)products, sizeof product);
  for (int i = 0; i < times; ++i) product("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return 0;
}
"""
# [LIBRARY]: opened only then.
MAIN = r"""
#include <dlfcn.h>
int work(int) __attribute__((weak));
int main(int count, char** words) {
  int (*opened)(int) = count > 1 ? (int (*)(int))dlsym(dlopen(words[1], RTLD_NOW), "work") : work;
  opened(50);
  return 7;
}
"""

# Has a table of addresses, calls what is in one, or both.
COPIED = r"""
typedef void (*Product)(const char*, const char*, const int*, const int*, const int*, const float*,
                        const float*, const int*, const float*, const int*, const float*, float*,
                        const int*);
#ifdef TABLE
void sgemm_();
TABLE Product table[5] = {0, 0, 0, (Product)sgemm_, 0};
Product* where(void) { return table; }
#else
extern Product table[5];
#endif
#ifdef CALLS
int main(void) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < 50; ++i) CALLS("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return 7;
}
#endif
"""

# SHIM: a variable with the name of a routine, filled when somebody asks for it, as lazy loaders of
# a BLAS have it; another is data alone, as a COMMON block of Fortran. USER: of both files' variables.
# Else a program that is right where all is as without hwprof.
VARIABLES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
typedef void (*Product)(const char*, const char*, const int*, const int*, const int*, const float*,
                        const float*, const int*, const float*, const int*, const float*, float*,
                        const int*);
#ifdef SHIM
Product sgemm_;
double dscal_[200] = {1, 2, 3};
void load(const char* path) { sgemm_ = (Product)dlsym(dlopen(path, RTLD_NOW), "sgemm_"); }
#else
extern Product sgemm_;
extern double dscal_[200];
void load(const char*);
int user(int, const char**);
#endif
#ifdef USER
static double* volatile data = dscal_;
int user(int count, const char** words) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  load(words[1]);
  for (int i = 0; i < 50; ++i) sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  if (dlsym(RTLD_DEFAULT, "sgemm_") != (void*)&sgemm_) return 1;
  if (dlsym(RTLD_DEFAULT, "dscal_") != (void*)dscal_ || data != dscal_) return 2;
  return dscal_[0] == 1 && data[2] == 3 ? 7 : 3;
}
#elif !defined SHIM
int main(int count, const char** words) { return user(count, words); }
#endif
"""

# REGISTRY: a library that tells what it knows the routine by, and calls what it is given. Else a
# program that compares that with its own, and with what dlsym() and dladdr() say; both call.
EQUAL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
typedef void (*Product)(const char*, const char*, const int*, const int*, const int*, const float*,
                        const float*, const int*, const float*, const int*, const float*, float*,
                        const int*);
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
static void call(Product product, int times) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < times; ++i) product("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}
#ifdef REGISTRY
Product registered(Product product) {
  call(product, 20);
  return sgemm_;
}
Product looked_up(void) { return (Product)dlsym(RTLD_DEFAULT, "sgemm_"); }
#else
Product registered(Product);
Product looked_up(void);
static Product volatile own = sgemm_;
int main(void) {
  Dl_info info;
  if (registered(own) != own || registered(sgemm_) != own) return 1;
  if ((Product)dlsym(RTLD_DEFAULT, "sgemm_") != own) return 2;
  if (looked_up() != own) return 5;
  if (!dladdr((void*)own, &info) || strcmp(info.dli_sname, "sgemm_") != 0) return 3;
#ifdef __PIE__  // else it lies in the program itself
  if (!strstr(info.dli_fname, "libproduct.so")) return 4;
#endif
  call(own, 3);
  return 7;
}
#endif
"""

# Plugins one after another, each closed before the next one is opened, all of one form. KERNEL: has
# one routine, which the program calls; else calls sgemm_, which it looks up.
PLUGIN = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#ifdef KERNEL
KERNEL
#else
typedef void (*Product)(const char*, const char*, const int*, const int*, const int*, const float*,
                        const float*, const int*, const float*, const int*, const float*, float*,
                        const int*);
int run(int times) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  Product product = (Product)dlsym(RTLD_DEFAULT, "sgemm_");
  for (int i = 0; i < times; ++i) product("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return c[0] == 0;
}
#endif
"""
DOT = r"""
double %s(const int* n, const double* x, const int* ix, const double* y, const int* iy) {
  double sum = %d;
  for (int i = 0; i < *n; ++i) sum += x[i * *ix] * y[i * *iy];
  return sum;
}
"""
# PLUGIN SYMBOL TIMES ...; with one of a caller, SYMBOL is "run". What the kernels have computed.
HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char** words) {
  static float a[64], c[64];
  static double x[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const int n = 8, one = 1;
  const float alpha = 1, zero = 0;
  for (int i = 0; i < 64; ++i) a[i] = 1;
  for (int i = 1; i + 2 < count; i += 3) {
    void* plugin = dlopen(words[i], RTLD_NOW);
    void* found = dlsym(plugin, words[i + 1]);
    const int times = atoi(words[i + 2]);
    if (strcmp(words[i + 1], "run") == 0) {
      if (((int (*)(int))found)(times) != 1) return 2;
    } else if (strcmp(words[i + 1], "sgemm_") == 0) {
      void (*product)() = (void (*)())found;
      for (int k = 0; k < times; ++k)
        product("N", "N", &n, &n, &n, &alpha, a, &n, a, &n, &zero, c, &n);
      printf("%g ", c[63]);
    } else {
      double (*dot)() = (double (*)())found, sum = 0;
      for (int k = 0; k < times; ++k) sum = dot(&n, x, &one, x, &one);
      printf("%g ", sum);
    }
    dlclose(plugin);
  }
  return 7;
}
"""


class Addresses(CoverageTest):
    def caller(self, name, *flags, product=None):
        return self.compile(name, READ_ONLY, "-shared", "-fPIC", "-w", *flags,
                            *self.needing(product or self.library))

    def observe_both(self, *libraries):
        """Reports of a program that needs the libraries, and of one that opens the last."""
        needs = self.compile("needs", MAIN, *self.needing(*libraries), "-ldl")
        opens = self.compile("opens", MAIN, *self.needing(*libraries[:-1]), "-ldl")
        for words in [[needs], [opens, libraries[-1]]]:
            with self.subTest(words):
                done, report = self.observe(*words, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                yield report

    def check_not_denied(self, report):
        if count(report) == 0:
            self.assertEqual(report["blas"]["verdict"], "inconclusive", report["blas"]["why"])
            self.assertIn("not watched", " ".join(called(report)["blind_to"]))
        else:
            self.assertEqual(count(report), 50)

    def test_addresses_in_memory_that_is_only_read(self):
        """As of assemblers and old objects (DT_TEXTREL), or sealed: data and code, at any place."""
        for name, flags in [(".products", "a"), (".products", "ax"), (".data.rel.ro", "aw")]:
            for begin in [0, 1, 4096 - 4]:
                with self.subTest([name, flags, begin]):
                    section = '%s,\\"%s\\"' % (name, flags)
                    library = self.caller("libtext.so", '-DSECTION="%s"' % section,
                                          '-DIN="%d"' % begin, "-Wl,-z,notext")
                    for report in self.observe_both(library):
                        self.assertEqual(count(report), 50, called(report))

    @needs_samples
    def test_a_file_that_does_not_begin_at_its_base(self):
        """Two that want the same place: what lies where the second one counts from is not its own."""
        first = ["-Wl,-Ttext-segment=0x10000000"]
        other = self.compile("libother.so", "int other(void) { return 3; }", "-shared", "-fPIC",
                             *first)
        for report in self.observe_both(other, self.caller("libhigh.so", *first)):
            self.check_not_denied(report)
        product = self.compile("libhighproduct.so", PRODUCT, "-shared", "-fPIC", *first)
        library = self.caller("libuser.so", product=product)
        for report in self.observe_both(other, library):
            self.assertEqual(count(report), 50, called(report))

    @needs_samples
    def test_headers_in_no_segment(self):
        """The loader reads the table at the file's end from the file; what is mapped is other."""
        for gap in [0, 1 << 26]:
            with self.subTest(gap):
                library = self.caller("libend.so")
                with open(library, "rb") as file:
                    data = bytearray(file.read())
                (begin,), (headers,) = (struct.unpack_from("<Q", data, 32),
                                        struct.unpack_from("<H", data, 56))
                table = bytes(data[begin:begin + 56 * headers])
                data[begin:begin + 56 * headers] = bytes(56 * headers)
                data += bytes(-len(data) % 4096 + gap)
                struct.pack_into("<Q", data, 32, len(data))
                with open(library, "wb") as file:
                    file.write(data + table)
                opens = self.compile("opens", MAIN, "-ldl")
                done, report = self.observe(opens, library, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                self.check_not_denied(report)

    def test_addresses_that_the_program_has_a_copy_of(self):
        """A variable of a library that a program names lies in the program, with what it held."""
        table = self.compile("libtable.so", COPIED, "-shared", "-fPIC", "-w", "-DTABLE=",
                             *self.needing(self.library))
        for flags in [["-no-pie", "-fno-pie"], ["-pie", "-fPIE"],
                      ["-no-pie", "-fno-pie", "-Wl,-z,now"]]:
            with self.subTest(flags):
                program = self.compile("copies", COPIED, "-w", *flags, "-DCALLS=table[3]",
                                       *self.needing(table))
                done, report = self.observe(program, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(count(report), 50, called(report))

    @needs_samples
    def test_addresses_in_variables_of_a_thread(self):
        """The first thread has its own before anybody can be asked."""
        program = self.compile("local", COPIED, "-w", "-DTABLE=static _Thread_local",
                               "-DCALLS=table[3]", *self.needing(self.library))
        done, report = self.observe(program, **self.more())
        self.assertEqual(done.returncode, 7, done.stderr)
        self.check_not_denied(report)

    def test_addresses_of_one_routine_are_equal(self):
        """As C promises, whichever file asks; and each call is the file's that makes it."""
        for flags in [["-pie", "-fPIE"], ["-pie", "-fPIE", "-fno-plt"], ["-no-pie", "-fno-pie"]]:
            with self.subTest(flags):
                registry = self.compile("libregistry.so", EQUAL, "-shared", "-fPIC", "-DREGISTRY",
                                        *self.needing(self.library))
                program = self.compile("equal", EQUAL, *flags,
                                       *self.needing(registry, self.library), "-ldl")
                done, report = self.observe(program, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(count(report), 43, called(report))
                if "-no-pie" not in flags:  # there all call through the program's own table
                    callers = {os.path.basename(site["caller"]): site["count"]
                               for site in called(report)["calls"]}
                    self.assertEqual(callers, {"libregistry.so": 40, "equal": 3})

    def plugin(self, name, kernel=None):
        flags = [] if kernel is None else ["-DKERNEL=" + " ".join(kernel.split())]
        return self.compile(name, PLUGIN, "-shared", "-fPIC", "-w", *flags)

    def observe_plugins(self, *steps):
        """The report of a program that opens and closes them in turn, and what it writes."""
        host = self.compile("host", HOST, "-w", *self.needing(self.library), "-ldl")
        words = [str(word) for step in steps for word in step]
        done, report = self.observe(host, *words, **self.more())
        self.assertEqual(done.returncode, 7, done.stderr)
        return report, done.stdout

    def test_plugins_that_come_to_lie_where_another_was(self):
        """Tuners, and what compiles kernels: one address is several routines, or those of files."""
        dot, other = (self.plugin("lib%s.so" % name, DOT % ("ddot_", start))
                      for name, start in [("dot", 0), ("other", 1)])
        product = self.plugin("libkernel.so", PRODUCT)
        report, written = self.observe_plugins((dot, "ddot_", 10), (product, "sgemm_", 20),
                                               (other, "ddot_", 30), (dot, "ddot_", 5))
        self.assertEqual(written.split()[:4], ["8", "1", "9", "8"])
        libraries = {(site["symbol"], os.path.basename(site["library"])): site["count"]
                     for site in called(report)["calls"]}
        self.assertEqual(libraries, {("ddot_", "libdot.so"): 15, ("sgemm_", "libkernel.so"): 20,
                                     ("ddot_", "libother.so"): 30})

    def test_callers_that_come_to_lie_where_another_was(self):
        """Each one's calls are its own, and not of the file that lay there."""
        first, second = (self.plugin(name) for name in ["libfirst.so", "libsecond.so"])
        report, _ = self.observe_plugins((first, "run", 10), (second, "run", 20), (first, "run", 5))
        callers = {os.path.basename(site["caller"]): site["count"]
                   for site in called(report)["calls"]}
        self.assertEqual(callers, {"libfirst.so": 15, "libsecond.so": 20})

    def test_code_that_is_no_function_by_its_symbol(self):
        """What IFUNC has chosen has none, and hand-written code has one without a type."""
        sources = [CHOSEN] + ([WITHOUT_TYPE] if platform.machine() == "x86_64" else [])
        for source in sources:
            library = self.compile("libodd.so", source, "-shared", "-fPIC", "-w")
            for flags in [["-pie", "-fPIE"], ["-pie", "-fPIE", "-fno-plt"]]:
                with self.subTest([source, flags]):
                    program = self.compile("caller", CALLER, "-DSYMBOL=sgemm_", *flags,
                                           *self.needing(library))
                    done, report = self.observe(program, **self.more())
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertEqual(count(report), 50, called(report))

    def test_variables_with_the_names_of_routines(self):
        """They stay what they are: where they lie, and what they hold."""
        shim = self.compile("libshim.so", VARIABLES, "-shared", "-fPIC", "-w", "-DSHIM", "-ldl")
        for flags in [[], ["-fno-plt"], ["-Wl,-z,now"]]:
            with self.subTest(flags):
                user = self.compile("libuser.so", VARIABLES, "-shared", "-fPIC", "-w", "-DUSER",
                                    *flags, *self.needing(shim), "-ldl")
                program = self.compile("variables", VARIABLES, "-w", *self.needing(shim, user))
                done, report = self.observe(program, self.library, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(count(report), 50, called(report))


if __name__ == "__main__":
    harness.main()

// wait_loops KIND MILLISECONDS: one thread that waits for the main thread, which sleeps, or that
// works, in a known way. Compiled by whichever compilers there are: what they make of these loops
// is what the rule for waits must tell apart (src/observe/samples/wait.h).
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALONE __attribute__((noinline)) static

enum { kBytes = 4 << 20 };

static atomic_int go;
static volatile int plain_go;
static pthread_spinlock_t lock;
static atomic_flag taken = ATOMIC_FLAG_INIT;
static _Atomic long long queues[64];  // two of them on cache lines of their own
static char* memory;
static double milliseconds;
static volatile long sink;

struct Node {
  struct Node* next;
  long value;
};

static double now_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

// --- Waits.

ALONE void wait_poll(void) {
  while (atomic_load_explicit(&go, memory_order_acquire) == 0) {
  }
}
ALONE void wait_volatile(void) {
  while (plain_go == 0) {
  }
}
ALONE void wait_pause(void) {
  while (atomic_load(&go) == 0) __builtin_ia32_pause();
}
ALONE void wait_yield(void) {
  while (atomic_load(&go) == 0) sched_yield();
}
ALONE void wait_spinlock(void) {
  pthread_spin_lock(&lock);
  pthread_spin_unlock(&lock);
}
ALONE void wait_test_and_set(void) {
  while (atomic_flag_test_and_set(&taken)) {
  }
}
ALONE void wait_then_swap(void) {
  int expected = 1;
  do {
    while (atomic_load_explicit(&go, memory_order_relaxed) == 0) {
    }
    expected = 1;
  } while (!atomic_compare_exchange_weak(&go, &expected, 2));
}
ALONE void wait_two(void) {
  while (atomic_load(&queues[0]) == 0 && atomic_load(&queues[8]) == 0) {
  }
}
ALONE void wait_counted(void) {
  for (;;) {
    for (int i = 0; i < 100000; ++i)
      if (atomic_load(&go) != 0) return;
  }
}
ALONE void wait_swap(void) {
  int expected = 1;
  do {
    expected = 1;
  } while (!atomic_compare_exchange_weak(&go, &expected, 2));
}

// --- Work that looks like it.

ALONE long chase(const struct Node* node, long rounds) {
  long sum = 0;
  for (; rounds > 0; --rounds) {
    sum += node->value;
    node = node->next;
  }
  return sum;
}
ALONE long find(const int* numbers, long count, int wanted) {
  for (long i = 0; i < count; ++i)
    if (numbers[i] == wanted) return i;
  return -1;
}
ALONE uint64_t collatz(uint64_t x, const volatile uint64_t* end) {
  for (long n = 0; x != *end && n < 1000000; ++n) {
    x = (x & 1) != 0 ? 3 * x + 1 : x / 2;
    if (x < 2) x = 27 + (uint64_t)n;
  }
  return x;
}
ALONE uint32_t hash(const unsigned char* bytes, long count) {
  uint32_t value = 2166136261U;
  for (; count > 0; --count) value = (value ^ *bytes++) * 16777619U;
  return value;
}
ALONE long above_first(const long* numbers, long count) {
  long above = 0;
  for (long i = 0; i < count; ++i)
    if (numbers[i] > numbers[0]) ++above;
  return above;
}
ALONE void count_to(const volatile long* end) {
  for (long i = 0; i < *end; ++i) {
  }
}
ALONE long sum_one(const volatile long* number, long count) {
  long sum = 0;
  for (long i = 0; i < count; ++i) sum += *number;
  return sum;
}
static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static void work_chase(void) {
  struct Node* nodes = (struct Node*)memory;
  const long count = kBytes / (long)sizeof *nodes;
  for (long i = 0; i < count; ++i) nodes[i].next = nodes + (i * 7919 + 1) % count;
  sink += chase(nodes, 1000000);
}
static void work_find(void) { sink += find((const int*)memory, kBytes / 4, 9); }
static void work_collatz(void) {
  volatile uint64_t end = 0;
  sink += (long)collatz(27, &end);
}
static void work_hash(void) { sink += hash((const unsigned char*)memory, kBytes); }
static void work_count(void) { sink += above_first((const long*)memory, kBytes / 8); }
static void work_delay(void) {
  volatile long end = 1000000;
  count_to(&end);
}
static void work_sum(void) {
  volatile long one = 3;
  sink += sum_one(&one, 1000000);
}
static void work_copy(void) { memcpy(memory, memory + kBytes / 2, kBytes / 2); }
static void work_fill(void) { memset(memory, 1, kBytes); }
static void work_search(void) { sink += memchr(memory, 9, kBytes) != NULL; }
static void work_length(void) {
  memory[kBytes - 1] = 0;
  sink += (long)strlen(memory);
  memory[kBytes - 1] = 1;
}
static void work_sort(void) {
  int* numbers = (int*)memory;
  for (int i = 0; i < 100000; ++i) numbers[i] = rand();
  qsort(numbers, 100000, sizeof *numbers, compare);
}

static const struct Kind {
  const char* name;
  void (*run)(void);
} kKinds[] = {
    {"wait-poll", wait_poll},
    {"wait-volatile", wait_volatile},
    {"wait-pause", wait_pause},
    {"wait-yield", wait_yield},
    {"wait-spinlock", wait_spinlock},
    {"wait-test-and-set", wait_test_and_set},
    {"wait-then-swap", wait_then_swap},
    {"wait-two", wait_two},
    {"wait-counted", wait_counted},
    {"wait-swap", wait_swap},
    {"work-chase", work_chase},
    {"work-find", work_find},
    {"work-collatz", work_collatz},
    {"work-hash", work_hash},
    {"work-count", work_count},
    {"work-delay", work_delay},
    {"work-sum", work_sum},
    {"work-copy", work_copy},
    {"work-fill", work_fill},
    {"work-search", work_search},
    {"work-length", work_length},
    {"work-sort", work_sort},
};

static void* run(void* kind) {
  const struct Kind* chosen = kind;
  // Work ends by itself; a wait returns when the main thread says so.
  const double end = now_ms(CLOCK_THREAD_CPUTIME_ID) + milliseconds;
  do {
    chosen->run();
  } while (strncmp(chosen->name, "work", 4) == 0 && now_ms(CLOCK_THREAD_CPUTIME_ID) < end);
  return NULL;
}

// Of the waiting thread: on a busy machine it gets its CPU time later.
static double used_ms(pthread_t thread) {
  clockid_t clock;
  return pthread_getcpuclockid(thread, &clock) == 0 ? now_ms(clock) : milliseconds;
}

int main(int count, char** words) {
  const struct Kind* chosen = NULL;
  for (size_t i = 0; count > 2 && i < sizeof kKinds / sizeof *kKinds; ++i)
    if (strcmp(kKinds[i].name, words[1]) == 0) chosen = &kKinds[i];
  if (chosen == NULL) return 2;
  milliseconds = atof(words[2]);
  memory = malloc(kBytes);
  if (memory == NULL) return 1;
  memset(memory, 1, kBytes);
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_lock(&lock);
  atomic_flag_test_and_set(&taken);
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, (void*)chosen) != 0) return 1;
  if (strncmp(chosen->name, "wait", 4) == 0) {
    while (used_ms(thread) < milliseconds) {
      const struct timespec pause = {0, 5000000};
      nanosleep(&pause, NULL);
    }
    atomic_store(&go, 1);
    plain_go = 1;
    pthread_spin_unlock(&lock);
    atomic_flag_clear(&taken);
    atomic_store(&queues[8], 1);
  }
  pthread_join(thread, NULL);
  return sink == 42;
}

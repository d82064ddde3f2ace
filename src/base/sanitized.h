// Whether a sanitizer watches this build: it rightly reports what the short ways of regions do, so
// those give way to the plain ones.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HWPROF_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HWPROF_SANITIZED 1
#endif
#endif
#ifndef HWPROF_SANITIZED
#define HWPROF_SANITIZED 0
#endif

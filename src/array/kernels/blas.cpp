// SPDX-License-Identifier: Apache-2.0
#include "array/kernels/blas.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <shared_mutex>

#include <dlfcn.h>
#include <pthread.h>

#include "array/kernels/loops.h"
#include "strandline/array/graph_lock.h"
#include "strandline/core/without_fork.h"

namespace strandline::array {
namespace {

// The C interface of BLAS, as its reference defines it.
constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;
constexpr int kTranspose = 112;
template <typename T>
using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha,
                      const T* a, int stride_a, const T* b, int stride_b, T beta, T* c,
                      int stride_c);

struct Blas {
  Gemm<float> single = nullptr;
  Gemm<double> twice = nullptr;
  std::string name = "plain loops";
};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kUsesBlas = false;  // what is not instrumented cannot be judged
#else
constexpr bool kUsesBlas = true;
#endif

// OpenBLAS ends its threads when the process forks and when it ends, without asking whether it is
// at work: it then waits for ever. Both wait here for the products under way. Products wait for the
// end of a fork; what is multiplied when the process ends goes without the library.
std::shared_mutex& products() {
  static std::shared_mutex& instance = *new std::shared_mutex;
  return instance;
}
constinit std::atomic<bool> g_has_ended{false};

// Simulated work may run on a thread that holds the graph: that lock comes first.
void close_for_fork() STRANDLINE_NO_LOCK_ANALYSIS {
  graph_lock().lock();
  products().lock();
}

void open_after_fork() STRANDLINE_NO_LOCK_ANALYSIS {
  products().unlock();
  graph_lock().unlock();
}

// The lock is the parent's thread's, by its number; the child's thread has another.
void open_in_child() STRANDLINE_NO_LOCK_ANALYSIS {
  new (&products()) std::shared_mutex;
  graph_lock().unlock();
}

void end_of_process() {
  const std::lock_guard none_under_way(products());
  g_has_ended.store(true, std::memory_order_relaxed);
}

Blas load() {
  Blas blas;
  if (!kUsesBlas) return blas;
  const WithoutFork stay;
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return blas;
  blas.single = reinterpret_cast<Gemm<float>>(dlsym(library, "cblas_sgemm"));
  blas.twice = reinterpret_cast<Gemm<double>>(dlsym(library, "cblas_dgemm"));
  using Config = char* (*)();
  const auto config = reinterpret_cast<Config>(dlsym(library, "openblas_get_config"));
  if (blas.single == nullptr || blas.twice == nullptr) return Blas{};
  // Registered after the library's own handlers, these run before them.
  pthread_atfork(&close_for_fork, &open_after_fork, &open_in_child);
  std::atexit(&end_of_process);
  blas.name = config == nullptr ? "OpenBLAS" : config();
  return blas;
}

const Blas& blas() {
  static const Blas& instance = *new Blas(load());
  return instance;
}

// Rows of b are added up, which vectorises; blocks of k stay in the cache.
template <typename T>
void multiply_plain(const Matrix<T>& a, const Matrix<T>& b, T* to, std::int64_t m, std::int64_t n,
                    std::int64_t k) {
  std::fill_n(to, m * n, T{0});
  for (std::int64_t i = 0; i < m; ++i) {
    T* row = to + i * n;
    for (std::int64_t p = 0; p < k; ++p) {
      const T factor = a.is_transposed ? a.at[p * a.stride + i] : a.at[i * a.stride + p];
      if (b.is_transposed) {
        for (std::int64_t j = 0; j < n; ++j) row[j] += factor * b.at[j * b.stride + p];
      } else {
        const T* other = b.at + p * b.stride;
        STRANDLINE_VECTORISE
        for (std::int64_t j = 0; j < n; ++j) row[j] += factor * other[j];
      }
    }
  }
}

template <typename T>
void multiply_by(Gemm<T> gemm, const Matrix<T>& a, const Matrix<T>& b, T* to, std::int64_t m,
                 std::int64_t n, std::int64_t k) {
  const std::int64_t longest = std::max({m, n, k, a.stride, b.stride});
  if (gemm == nullptr || longest > std::numeric_limits<int>::max()) {
    multiply_plain(a, b, to, m, n, k);
    return;
  }
  const auto number = [](std::int64_t x) { return static_cast<int>(x); };
  const auto transpose = [](const Matrix<T>& x) {
    return x.is_transposed ? kTranspose : kNoTranspose;
  };
  const std::shared_lock under_way(products());
  if (g_has_ended.load(std::memory_order_relaxed)) {
    multiply_plain(a, b, to, m, n, k);
    return;
  }
  gemm(kRowMajor, transpose(a), transpose(b), number(m), number(n), number(k), T{1}, a.at,
       number(a.stride), b.at, number(b.stride), T{0}, to, number(n));
}

}  // namespace

void multiply(const Matrix<float>& a, const Matrix<float>& b, float* to, std::int64_t m,
              std::int64_t n, std::int64_t k) {
  multiply_by(blas().single, a, b, to, m, n, k);
}

void multiply(const Matrix<double>& a, const Matrix<double>& b, double* to, std::int64_t m,
              std::int64_t n, std::int64_t k) {
  multiply_by(blas().twice, a, b, to, m, n, k);
}

std::string blas_name() {
  return blas().name;
}

}  // namespace strandline::array

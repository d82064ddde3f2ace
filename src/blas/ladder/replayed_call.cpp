#include "src/blas/ladder/replayed_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "src/observe/routines/flop_count.h"

namespace hwprof::blas {
namespace {

using observe::Shape;

constexpr std::int64_t kRowMajorLayout = 101, kColumnMajorLayout = 102;
constexpr char kUpper[] = "U", kUnit[] = "U", kLeft[] = "L", kRight[] = "R", kNo[] = "N",
               kYes[] = "T", kConjugate[] = "C";

struct Letter {
  const char* fortran;
  std::int64_t c;
};

bool is(const Shape& shape, observe::ShapeForm bit) { return (shape.form & bit) != 0; }

// Hermitian products know no plain transpose.
Letter transpose(bool yes, bool hermitian) {
  if (!yes) return {kNo, 111};
  return hermitian ? Letter{kConjugate, 113} : Letter{kYes, 112};
}

Letter letter_of(char token, const Shape& shape, bool hermitian) {
  switch (token) {
    case 's':
      return is(shape, observe::kRightSide) ? Letter{kRight, 142} : Letter{kLeft, 141};
    case 'u':
      return {kUpper, 121};
    case 't':
      return transpose(is(shape, observe::kTransposedA), hermitian);
    case 'v':
      return transpose(is(shape, observe::kTransposedB), hermitian);
    default:
      return {kUnit, 132};
  }
}

struct Extent {
  std::uint64_t rows, columns;
};

// As it is stored.
Extent extent_of(char token, const RoutineName& name, const Shape& shape) {
  const auto turned = [&](bool yes, std::uint64_t rows, std::uint64_t columns) {
    return yes ? Extent{columns, rows} : Extent{rows, columns};
  };
  const std::string& operation = name.operation;
  const bool square =
      operation.starts_with("sy") || operation.starts_with("he") || operation.starts_with("tr");
  if (operation.ends_with("rk") || operation.ends_with("r2k")) {
    return token == 'C' ? Extent{shape.n, shape.n}
                        : turned(is(shape, observe::kTransposedA), shape.n, shape.k);
  }
  if (token == 'A' && square) {
    const std::uint64_t side =
        operation.ends_with("mm") || operation.ends_with("sm") ? shape.k : shape.m;
    return {side, side};
  }
  if (token == 'A' && operation.starts_with("ger")) return {shape.m, shape.n};
  // Of gemv, m and k are those of the matrix whatever its transpose.
  if (token == 'A' && operation == "gemv") return {shape.m, shape.k};
  if (token == 'A') return turned(is(shape, observe::kTransposedA), shape.m, shape.k);
  if (token == 'B' && operation.starts_with("gemm"))
    return turned(is(shape, observe::kTransposedB), shape.k, shape.n);
  return {shape.m, shape.n};
}

// In doubles, whatever the type: one pattern that is neither zero, which some libraries skip, nor
// grows when it is multiplied again and again.
std::vector<double> operand(std::uint64_t elements, char type, int exponent) {
  const std::size_t bytes = type == 's' ? 4 : type == 'z' ? 16 : 8;
  std::vector<double> values((elements * bytes + 7) / 8);
  const double scale = std::ldexp(1.0, exponent);
  std::uint64_t state = 0x9e3779b97f4a7c15;
  const auto next = [&] {
    state = state * 6364136223846793005 + 1442695040888963407;
    return scale * (0.5 + 0x1p-33 * static_cast<double>(state >> 32U));
  };
  const bool single = type == 's' || type == 'c';
  for (double& value : values) {
    value = single ? std::bit_cast<double>(
                         std::array{static_cast<float>(next()), static_cast<float>(next())})
                   : next();
  }
  return values;
}

constexpr int kSmall = -24;  // what is added to, or multiplied by itself, must not grow

// Of the first operand, and of the others.
struct Exponents {
  int first = 0, others = 0;
};

Exponents exponents_of(Magnitude magnitude, char type, std::uint64_t terms) {
  if (magnitude == Magnitude::kUsual) return {};
  const bool single = type == 's' || type == 'c';
  // Sums of so many products must not become normal numbers, nor the products zero.
  const int room = std::min(static_cast<int>(std::bit_width(terms)) + 2, single ? 18 : 40);
  const int product = (single ? std::numeric_limits<float>::min_exponent
                              : std::numeric_limits<double>::min_exponent) -
                      1 - room;
  if (magnitude == Magnitude::kDenormalOperand) return {product, 0};
  return {product / 2, product / 2};
}

template <class... Scalars, std::size_t... I>
void call_with(void* function, const std::array<std::int64_t, sizeof...(I)>& words,
               std::index_sequence<I...> /*places*/, Scalars... scalars) {
  using Function = void (*)(decltype(static_cast<std::int64_t>(I))..., Scalars...);
  reinterpret_cast<Function>(function)(words[I]..., scalars...);
}

}  // namespace

void ReplayedCall::run() const {
  constexpr auto kPlaces = std::make_index_sequence<kWords>();
  if (!scalars_by_value_ || scalars_ == 0) return call_with(function_, words_, kPlaces);
  // One that is not taken lies in a register that nobody looks at.
  if (type_ == 's' || type_ == 'c') return call_with(function_, words_, kPlaces, 1.0F, 0.0F);
  call_with(function_, words_, kPlaces, 1.0, 0.0);
}

bool is_sum_of_products(std::string_view symbol) {
  const auto name = parse_routine_name(symbol);
  if (!name) return false;
  const std::string_view arguments = replay_arguments(name->operation);
  return arguments.find_first_of("bq") != std::string_view::npos || name->operation == "dot";
}

Result<ReplayedCall> ReplayedCall::prepare(const BlasLibrary& library, const ReplayCall& call,
                                           Magnitude magnitude) {
  const auto name = parse_routine_name(call.symbol);
  const std::string_view arguments = name ? replay_arguments(name->operation) : "";
  if (arguments.empty()) {
    return environment_error(0, fmt::format("{} cannot be made again", call.symbol));
  }
  ReplayedCall made;
  observe::Routine routine;
  observe::find_routine(call.symbol.c_str(), routine);
  made.function_ = library.symbol(call.symbol);
  if (made.function_ == nullptr) made.function_ = library.symbol(name->plain);
  if (made.function_ == nullptr) {
    return environment_error(0, fmt::format("it has no {}", name->plain));
  }
  made.type_ = name->type;
  made.flops_ = flop_count(routine, call.shape);
  made.weight_ = call.weight;

  const Shape& shape = call.shape;
  const bool hermitian = name->operation.starts_with("he");
  const bool complex = name->type == 'c' || name->type == 'z';
  const bool accumulates = name->operation.find('r') != std::string::npos ||
                           name->operation.starts_with("t") || name->operation == "axpy";
  made.integers_.reserve(kWords);
  made.numbers_.reserve(2 * kWords);
  made.operands_.reserve(kWords);
  std::size_t count = 0, letters = 0;
  const auto word = [&](std::int64_t value) {
    if (count < kWords) made.words_[count++] = value;
  };
  const auto address = [&](const void* at) { word(std::bit_cast<std::int64_t>(at)); };
  const auto integer = [&](std::uint64_t value) {
    if (name->c_interface) return word(static_cast<std::int64_t>(value));
    made.integers_.push_back(static_cast<std::int64_t>(value));
    address(&made.integers_.back());
  };
  const auto scalar = [&](double value, bool is_real) {
    ++made.scalars_;
    if (name->c_interface && is_real) {
      made.scalars_by_value_ = true;
      return;
    }
    const bool single = name->type == 's' || name->type == 'c';
    const std::size_t at = made.numbers_.size();
    if (single) {
      made.numbers_.push_back(std::bit_cast<double>(std::array{static_cast<float>(value), 0.0F}));
    } else {
      made.numbers_.push_back(value);
      made.numbers_.push_back(0);
    }
    address(&made.numbers_[at]);
  };
  const Exponents exponents = exponents_of(magnitude, name->type, shape.k);
  const auto matrix = [&](std::uint64_t elements, int small) {
    const int exponent = made.operands_.empty() ? exponents.first : exponents.others;
    const int added = magnitude == Magnitude::kUsual ? small : 0;
    address(made.operands_.emplace_back(operand(elements, name->type, exponent + added)).data());
  };
  if (routine.layout) {
    word(is(shape, observe::kRowMajor) ? kRowMajorLayout : kColumnMajorLayout);
  }
  for (const char token : arguments) {
    switch (token) {
      case 'm':
        integer(shape.m);
        break;
      case 'n':
        integer(shape.n);
        break;
      case 'k':
        integer(shape.k);
        break;
      case 'a':
      case 'p':
        scalar(1, token == 'p' || !complex);
        break;
      case 'b':
      case 'q':
        scalar(0, token == 'q' || !complex);
        break;
      case 'A':
      case 'B':
      case 'C': {
        const Extent extent = extent_of(token, *name, shape);
        matrix(extent.rows * extent.columns, accumulates && token == 'A' ? kSmall : 0);
        integer(is(shape, observe::kRowMajor) ? extent.columns : extent.rows);
        break;
      }
      case 'P':
        matrix(shape.m * (shape.m + 1) / 2, accumulates ? kSmall : 0);
        break;
      case 'x':
      case 'y':
        matrix(std::max({shape.m, shape.n, shape.k}), accumulates && token == 'x' ? kSmall : 0);
        integer(1);
        break;
      default: {
        const Letter letter = letter_of(token, shape, hermitian);
        if (name->c_interface) {
          word(letter.c);
        } else {
          address(letter.fortran);
          ++letters;
        }
      }
    }
  }
  // The lengths of Fortran's texts, behind all that has a name.
  for (std::size_t i = 0; i < letters; ++i) word(1);
  return made;
}

}  // namespace hwprof::blas

#include "src/workloads/inputs/json_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

namespace hwprof {
namespace {

constexpr std::size_t kMostDepth = 8;

// The line of the last character that the parser took. Its lexer reads a number to the character
// behind it: a line end counts as part of the line that it ends.
struct Position {
  std::size_t line = 1;
  bool behind_line_end = false;

  void take(char c) {
    line += behind_line_end ? 1 : 0;
    behind_line_end = c == '\n';
  }
};

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    position_->take(*at_);
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  Position* position_;
};

// Builds the tree; the names of the functions are nlohmann's SAX interface.
class Builder {
 public:
  using Json = nlohmann::json;

  Builder(const Position& position, const std::string& file, std::size_t most_items)
      : position_(position), file_(file), most_items_(most_items) {}

  bool null() { return add(JsonLine::Other{"null"}); }
  bool boolean(bool value) { return add(JsonLine::Other{value ? "true" : "false"}); }
  bool number_integer(Json::number_integer_t value) {
    return add(JsonLine::Other{fmt::format("{}", value)});
  }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t, const std::string& text) {
    return add(JsonLine::Other{text});
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // only of other formats
  bool start_object(std::size_t) { return open(JsonObject()); }
  bool start_array(std::size_t) { return open(JsonArray()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto& object = std::get<JsonObject>(open_.back().value);
    for (const JsonMember& member : object) {
      if (member.key == name) return fail(fmt::format("the key \"{}\" stands there twice", name));
    }
    if (object.size() >= most_items_) return too_many();
    object.push_back({std::move(name), position_.line, {}});
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t, const std::string&, const Exception& exception) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    std::string what = exception.what();
    const auto place = what.find("at line ");
    if (place != std::string::npos) what = what.substr(place + 3);
    error_ = Error{Fault::kUsage, 0, fmt::format("{} is no JSON: {}", file_, what), {}};
    return false;
  }

  [[nodiscard]] Result<JsonLine> take() {
    if (error_) return tl::make_unexpected(*error_);
    return std::move(root_);
  }

 private:
  bool fail(std::string what) {
    error_ =
        Error{Fault::kUsage, 0, fmt::format("line {} of {}: {}", position_.line, file_, what), {}};
    return false;
  }
  bool too_many() { return fail(fmt::format("more than {} items in a list", most_items_)); }

  bool place(JsonLine value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    auto& parent = open_.back().value;
    if (auto* object = std::get_if<JsonObject>(&parent)) {
      object->back().value = std::move(value);
      return true;
    }
    auto& array = std::get<JsonArray>(parent);
    if (array.size() >= most_items_) return too_many();
    array.push_back(std::move(value));
    return true;
  }
  template <class T>
  bool add(T value) {
    return place({position_.line, std::move(value)});
  }
  template <class T>
  bool open(T value) {
    if (open_.size() == kMostDepth) {
      return fail(fmt::format("nested more than {} deep", kMostDepth));
    }
    open_.push_back({position_.line, std::move(value)});
    return true;
  }
  bool close() {
    JsonLine value = std::move(open_.back());
    open_.pop_back();
    return place(std::move(value));
  }

  const Position& position_;
  const std::string& file_;
  std::size_t most_items_;
  std::vector<JsonLine> open_;
  JsonLine root_;
  std::optional<Error> error_;
};

}  // namespace

std::string JsonLine::described() const {
  struct {
    std::string operator()(const Other& other) const { return other.text; }
    std::string operator()(std::uint64_t number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return fmt::format("\"{}\"", text); }
    std::string operator()(const JsonArray&) const { return "a list"; }
    std::string operator()(const JsonObject&) const { return "an object"; }
  } describe;
  return std::visit(describe, value);
}

Result<JsonLine> parse_json_lines(std::string_view text, const std::string& file,
                                  std::size_t most_items) {
  Position position;
  Builder builder(position, file, most_items);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &position),
                            CountingIterator(text.data() + text.size(), &position), &builder);
  return builder.take();
}

}  // namespace hwprof

// Code objects of one process, by their addresses: file, function and lines, read once, and looked
// at again later, since an address may be given to another. Everything read is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/observe/proc/read_memory.h"
#include "src/observe/python/layout.h"

namespace hwprof::observe {

struct PythonCode {
  std::string file, function;
  std::int32_t first_line = 0;
  std::uint64_t begin = 0, units = 0;  // of its instructions
  std::vector<std::byte> line_table;

  // Of the instruction at `address`, or where the function has not begun, its first line. Absent:
  // it is none of this code.
  [[nodiscard]] std::optional<std::int32_t> line(std::uint64_t address) const;
};

// The characters of a str, as UTF-8; those that are none, or control the terminal, as '?'. Absent:
// it is none, or longer than a name.
std::optional<std::string> python_text(const ReadMemory& read, const PythonLayout& layout,
                                       std::uint64_t object);

class CodeObjects {
 public:
  CodeObjects(const PythonLayout& layout, std::uint64_t code_type)
      : layout_(layout), code_type_(code_type) {}

  // The code object at an address, at this moment; nullptr: there is none. Valid as long as anybody
  // holds it.
  std::shared_ptr<const PythonCode> find(const ReadMemory& read, std::uint64_t address,
                                         std::uint64_t now_ns);

  // That which was found and has this instruction; nullptr: there is none. It may be gone by now.
  [[nodiscard]] std::shared_ptr<const PythonCode> holding(std::uint64_t instruction) const;

 private:
  // What another object at the same address would have another one of.
  struct Identity {
    std::uint64_t units = 0, file = 0, name = 0, line_table = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Known {
    Identity identity;
    std::uint64_t looked_ns = 0;
    std::shared_ptr<const PythonCode> code;
  };
  [[nodiscard]] std::shared_ptr<const PythonCode> read_code(const ReadMemory& read,
                                                            std::uint64_t address,
                                                            const Identity& identity,
                                                            std::int32_t first_line) const;

  PythonLayout layout_;
  std::uint64_t code_type_;
  std::map<std::uint64_t, Known> known_;
  std::uint64_t bytes_ = 0;
};

}  // namespace hwprof::observe

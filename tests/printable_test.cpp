#include "src/report/printable.h"

#include <gtest/gtest.h>

namespace hwprof::report {
namespace {

TEST(Printable, OrdinaryTextStaysAsItIs) {
  EXPECT_EQ(printable("/usr/lib/libblas.so.3"), "/usr/lib/libblas.so.3");
  EXPECT_EQ(printable("Ünïcødé 文書 ±µ"), "Ünïcødé 文書 ±µ");
}

TEST(Printable, ControlCharactersBecomeEscapes) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\x0ab\\x09c\\x0dd");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u{9b}31m");  // CSI in one character (C1)
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, InvisibleCharactersBecomeEscapes) {
  EXPECT_EQ(printable("abc\xe2\x80\xae"
                      "fed"),
            "abc\\u{202e}fed");                       // right-to-left override
  EXPECT_EQ(printable("\xe2\x80\x8b"), "\\u{200b}");  // zero width space
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\u{2028}");  // line separator
}

TEST(Printable, BytesThatAreNotUtf8BecomeEscapes) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\\xffb");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                    // cut off
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
}

TEST(Printable, WidthCountsTerminalCells) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("1 ±2 µs"), 7);
  EXPECT_EQ(display_width("文書"), 4);
  EXPECT_EQ(display_width("e\xcc\x81"), 1);  // e + combining acute
}

}  // namespace
}  // namespace hwprof::report

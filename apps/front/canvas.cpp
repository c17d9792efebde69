#include "front/canvas.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <weft/error.hpp>

#include "front/output_file.hpp"

namespace front {
namespace {

// Seven rows of five dots, the left one in bit 4; those of a letter with a descender begin `lower` rows below the others'.
struct glyph {
  char32_t letter;
  std::uint8_t rows[7];
  int lower = 0;
};
constexpr glyph font[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}},   {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 2, 4, 8, 31}},       {'3', {31, 2, 4, 2, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},       {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},     {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}},   {'9', {14, 17, 17, 15, 1, 2, 12}},
    {'A', {14, 17, 17, 31, 17, 17, 17}},   {'B', {30, 17, 17, 30, 17, 17, 30}},
    {'C', {14, 17, 16, 16, 16, 17, 14}},   {'D', {30, 17, 17, 17, 17, 17, 30}},
    {'E', {31, 16, 16, 30, 16, 16, 31}},   {'F', {31, 16, 16, 30, 16, 16, 16}},
    {'G', {14, 17, 16, 23, 17, 17, 15}},   {'H', {17, 17, 17, 31, 17, 17, 17}},
    {'I', {14, 4, 4, 4, 4, 4, 14}},        {'J', {7, 2, 2, 2, 2, 18, 12}},
    {'K', {17, 18, 20, 24, 20, 18, 17}},   {'L', {16, 16, 16, 16, 16, 16, 31}},
    {'M', {17, 27, 21, 21, 17, 17, 17}},   {'N', {17, 25, 21, 19, 17, 17, 17}},
    {'O', {14, 17, 17, 17, 17, 17, 14}},   {'P', {30, 17, 17, 30, 16, 16, 16}},
    {'Q', {14, 17, 17, 17, 21, 18, 13}},   {'R', {30, 17, 17, 30, 20, 18, 17}},
    {'S', {15, 16, 16, 14, 1, 1, 30}},     {'T', {31, 4, 4, 4, 4, 4, 4}},
    {'U', {17, 17, 17, 17, 17, 17, 14}},   {'V', {17, 17, 17, 17, 17, 10, 4}},
    {'W', {17, 17, 17, 21, 21, 27, 17}},   {'X', {17, 10, 4, 4, 4, 10, 17}},
    {'Y', {17, 17, 10, 4, 4, 4, 4}},       {'Z', {31, 1, 2, 4, 8, 16, 31}},
    {'a', {0, 0, 14, 1, 15, 17, 15}},      {'b', {16, 16, 30, 17, 17, 17, 30}},
    {'c', {0, 0, 14, 17, 16, 17, 14}},     {'d', {1, 1, 15, 17, 17, 17, 15}},
    {'e', {0, 0, 14, 17, 31, 16, 14}},     {'f', {6, 9, 8, 28, 8, 8, 8}},
    {'g', {15, 17, 17, 17, 15, 1, 14}, 2}, {'h', {16, 16, 30, 17, 17, 17, 17}},
    {'i', {4, 0, 12, 4, 4, 4, 14}},        {'j', {2, 0, 6, 2, 2, 2, 12}, 1},
    {'k', {16, 16, 18, 20, 24, 20, 18}},   {'l', {12, 4, 4, 4, 4, 4, 14}},
    {'m', {0, 0, 26, 21, 21, 21, 21}},     {'n', {0, 0, 30, 17, 17, 17, 17}},
    {'o', {0, 0, 14, 17, 17, 17, 14}},     {'p', {30, 17, 17, 17, 30, 16, 16}, 2},
    {'q', {15, 17, 17, 17, 15, 1, 1}, 2},  {'r', {0, 0, 22, 25, 16, 16, 16}},
    {'s', {0, 0, 15, 16, 14, 1, 30}},      {'t', {8, 8, 28, 8, 8, 9, 6}},
    {'u', {0, 0, 17, 17, 17, 17, 15}},     {'v', {0, 0, 17, 17, 17, 10, 4}},
    {'w', {0, 0, 17, 17, 21, 21, 10}},     {'x', {0, 0, 17, 10, 4, 10, 17}},
    {'y', {17, 17, 17, 17, 15, 1, 14}, 2}, {'z', {0, 0, 31, 2, 4, 8, 31}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},        {',', {0, 0, 0, 0, 12, 4, 8}},
    {'-', {0, 0, 0, 31, 0, 0, 0}},         {'+', {0, 4, 4, 31, 4, 4, 0}},
    {'/', {1, 1, 2, 4, 8, 16, 16}},        {':', {0, 12, 12, 0, 12, 12, 0}},
    {'(', {2, 4, 8, 8, 8, 4, 2}},          {')', {8, 4, 2, 2, 2, 4, 8}},
    {'%', {24, 25, 2, 4, 8, 19, 3}},       {'=', {0, 0, 31, 0, 31, 0, 0}},
    {U'Å', {4, 10, 4, 14, 17, 31, 17}},
};

// The next character of a UTF-8 text; advances `at` past it.
char32_t next_character(std::string_view words, std::size_t& at) {
  const auto first = static_cast<unsigned char>(words[at++]);
  if (first < 0x80 || at == words.size()) return first;
  const auto second = static_cast<unsigned char>(words[at++]);
  return (char32_t{first} & 0x1f) << 6 | (second & 0x3f);
}

}  // namespace

canvas::canvas(int width, int height, color background)
    : width_(width),
      height_(height),
      clip_right_(width),
      clip_bottom_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), background) {}

void canvas::blend(int x, int y, color c, double share) {
  if (x < clip_left_ || x >= clip_right_ || y < clip_top_ || y >= clip_bottom_) return;
  color& p = pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                     static_cast<std::size_t>(x)];
  for (std::size_t k = 0; k < 3; ++k)
    p[k] = static_cast<std::uint8_t>(std::lround(p[k] + share * (c[k] - p[k])));
}

void canvas::clip(int x, int y, int width, int height) {
  clip_left_ = std::max(x, 0);
  clip_top_ = std::max(y, 0);
  clip_right_ = std::min(x + width, width_);
  clip_bottom_ = std::min(y + height, height_);
}

void canvas::fill(int x, int y, int width, int height, color c) {
  for (int row = y; row < y + height; ++row)
    for (int column = x; column < x + width; ++column) blend(column, row, c, 1.0);
}

void canvas::disc(double x, double y, double radius, color c) {
  const color rim{static_cast<std::uint8_t>(c[0] * 6 / 10),
                  static_cast<std::uint8_t>(c[1] * 6 / 10),
                  static_cast<std::uint8_t>(c[2] * 6 / 10)};
  const double rim_width = std::min(1.5, 0.2 * radius);
  for (int row = static_cast<int>(y - radius) - 1; row <= static_cast<int>(y + radius) + 1; ++row)
    for (int column = static_cast<int>(x - radius) - 1; column <= static_cast<int>(x + radius) + 1;
         ++column) {
      const double distance = std::hypot(column + 0.5 - x, row + 0.5 - y);
      // The share of the pixel that the disc covers, nearly.
      const double covered = std::clamp(radius - distance + 0.5, 0.0, 1.0);
      if (covered == 0) continue;
      blend(column, row, rim, covered);
      blend(column, row, c, std::clamp(radius - rim_width - distance + 0.5, 0.0, 1.0));
    }
}

void canvas::line(double x0, double y0, double x1, double y1, double width, color c) {
  const double along_x = x1 - x0, along_y = y1 - y0;
  const double length2 = along_x * along_x + along_y * along_y, half = 0.5 * width;
  const auto distance_of = [&](double x, double y) {
    const double at =
        length2 > 0 ? std::clamp(((x - x0) * along_x + (y - y0) * along_y) / length2, 0.0, 1.0)
                    : 0.0;
    return std::hypot(x - x0 - at * along_x, y - y0 - at * along_y);
  };
  const double reach = half + 1;
  for (int row = static_cast<int>(std::min(y0, y1) - reach);
       row <= static_cast<int>(std::max(y0, y1) + reach); ++row) {
    // Only where the line is near in this row.
    double from = std::min(x0, x1), to = std::max(x0, x1);
    if (std::abs(along_y) > 1) {
      const auto x_at = [&](double y) {
        return x0 + along_x * std::clamp((y - y0) / along_y, 0.0, 1.0);
      };
      const double a = x_at(row - reach), b = x_at(row + 1 + reach);
      from = std::min(a, b);
      to = std::max(a, b);
    }
    for (int column = static_cast<int>(from - reach); column <= static_cast<int>(to + reach);
         ++column)
      blend(column, row, c,
            std::clamp(half - distance_of(column + 0.5, row + 0.5) + 0.5, 0.0, 1.0));
  }
}

void canvas::text(int x, int y, std::string_view words, color c, int scale) {
  for (std::size_t at = 0; at < words.size(); x += 6 * scale) {
    const char32_t letter = next_character(words, at);
    const auto* found = std::find_if(std::begin(font), std::end(font),
                                     [&](const glyph& g) { return g.letter == letter; });
    if (found == std::end(font)) continue;  // A space.
    for (int row = 0; row < 7; ++row)
      for (int column = 0; column < 5; ++column)
        if (found->rows[row] >> (4 - column) & 1)
          fill(x + column * scale, y + (found->lower + row) * scale, scale, scale, c);
  }
}

int canvas::text_width(std::string_view words, int scale) {
  int letters = 0;
  for (std::size_t at = 0; at < words.size(); ++letters) next_character(words, at);
  return 6 * scale * letters;
}

void canvas::write_png(const std::string& path) const {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width_);
  image.height = static_cast<png_uint_32>(height_);
  image.format = PNG_FORMAT_RGB;
  // Not by its name: libpng removes what it cannot write to, /dev/full too.
  output_file file(path);
  file.begin();
  if (!png_image_write_to_stdio(&image, file.stream(), 0, pixels_.data(), 0, nullptr))
    throw weft::error("cannot write picture '" + path + "': " + image.message +
                      "; is the disk full?");
  file.flush();
}

}  // namespace front

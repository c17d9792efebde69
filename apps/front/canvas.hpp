// A picture in memory: discs with smooth edges, lines, text, and a PNG file at the end.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace front {

using color = std::array<std::uint8_t, 3>;

class canvas {
 public:
  canvas(int width, int height, color background);

  void fill(int x, int y, int width, int height, color c);
  void disc(double x, double y, double radius, color c);
  void line(double x0, double y0, double x1, double y1, double width, color c);
  // Later drawing stays within this rectangle.
  void clip(int x, int y, int width, int height);
  void clip_nothing() { clip(0, 0, width_, height_); }
  // The upper left corner of the first letter; a letter takes 6 × 9 squares of `scale` pixels.
  void text(int x, int y, std::string_view words, color c, int scale = 2);
  static int text_width(std::string_view words, int scale = 2);

  void write_png(const std::string& path) const;

 private:
  void blend(int x, int y, color c, double share);

  int width_, height_;
  int clip_left_ = 0, clip_top_ = 0, clip_right_, clip_bottom_;
  std::vector<color> pixels_;
};

}  // namespace front

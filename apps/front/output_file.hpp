// Files that programs write.
#pragma once
#include <cstdio>
#include <memory>
#include <string>

namespace front {

// A file that is written to; every failure throws weft::error with the path.
class output_file {
 public:
  // What the file holds stays until begin().
  explicit output_file(const std::string& path);
  void begin();
  [[gnu::format(printf, 2, 3)]] void print(const char* format, ...);
  void flush();
  // Bytes as they are.
  void write(const void* bytes, std::size_t size);
  [[nodiscard]] std::FILE* stream() const { return file_.get(); }

 private:
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, closer> file_;
};

}  // namespace front

// One process of a job whose others are made up by a test: they say of themselves what it says, so they
// have the same settings and devices.
#pragma once
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "bootstrap/bootstrap.hpp"

namespace weft::tests {

class mirrored_job final : public bootstrap {
 public:
  mirrored_job(int process, int processes) : process_(process), processes_(processes) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "mirror"; }
  [[nodiscard]] int process() const noexcept override { return process_; }
  [[nodiscard]] int process_count() const noexcept override { return processes_; }
  [[nodiscard]] const std::string& job_id() const noexcept override { return id_; }
  [[nodiscard]] int node_of(int) const override { return 0; }
  [[nodiscard]] std::string host_of(int) const override { return "here"; }
  void put(std::string_view key, std::string_view value) override {
    values_[std::string(key)] = value;
  }
  [[nodiscard]] std::string get(int, std::string_view key) override {
    return values_[std::string(key)];
  }
  void fence() override {}
  void on_failure(failure_handler) override {}
  [[noreturn]] void abort(int, const std::string&) override { std::abort(); }
  void finish() noexcept override {}

 private:
  const int process_;
  const int processes_;
  const std::string id_ = "mirror";
  std::map<std::string, std::string> values_;
};

}  // namespace weft::tests

// What the codes of messages over TCP cost by themselves: a message is sealed by one endpoint and opened by the other.
//
//   sealed/message/<size>   both, without any network
//
// `bench-sealed KIND SIZE COUNT` does that so often and prints nothing, to have instructions counted.
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "report.hpp"
#include "transport/sealed/sealed.hpp"

namespace {

using weft::protection;

// Two endpoints, of which one speaks.
class pair {
 public:
  pair(protection how, std::size_t size)
      : from_(keys_[0].channel_with(keys_[1].told(), 0, 1, how)),
        to_(keys_[1].channel_with(keys_[0].told(), 1, 0, how)),
        message_(size) {}
  void pass() {
    std::array<std::byte, weft::seal_code_bytes> code;
    if (!from_->seal(number_, message_, code.data()) || !to_->open(number_, message_, code.data()))
      std::exit(1);
    ++number_;
  }

 private:
  weft::key_pair keys_[2];
  std::unique_ptr<weft::sealed_channel> from_, to_;
  std::vector<std::byte> message_;
  std::uint64_t number_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) {
    const std::string_view kind = argv[1];
    pair both(kind == "encrypt" ? protection::encrypt : protection::authenticate,
              std::strtoul(argv[2], nullptr, 10));
    for (long left = std::atol(argv[3]); left > 0; --left) both.pass();
    return 0;
  }
  bench::raise_priority();
  bench::print_header();
  for (const auto& [how, name] : {std::pair{protection::authenticate, "weft-authenticate"},
                                  std::pair{protection::encrypt, "weft-encrypt"}})
    for (const std::size_t size : {8u, 1024u, 65536u}) {
      const std::string row = "sealed/message/" + bench::size_name(size);
      if (!bench::wanted(row)) continue;
      pair both(how, size);
      bench::print_row(row, {name, 1, 1}, "ns", bench::sample([&](long n) {
                         const double start = bench::clock_ns();
                         for (long i = 0; i < n; ++i) both.pass();
                         return bench::clock_ns() - start;
                       }));
    }
}

// Calls between localities: within one process, and between processes that a misbehaving network joins.
#include <weft/parcels.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "job.hpp"
#include "parcel/layer.hpp"
#include "parcel/lci/lci_shared_port.hpp"
#include "parcel/mpi/tags.hpp"

namespace weft {
namespace {

// One rank in each of so many processes, beside a helper.
options localities(int count, int helpers = 1) {
  options how = job_of(count, count);
  how.helpers = helpers;
  if (std::getenv("TEST_PARCELS") != nullptr) how.timeout_s = 3000;  // A soak.
  return how;
}
int run_localities(int count, const std::function<void()>& body, int helpers = 1) {
  const auto each = [&](communicator&) { body(); };
  ++tests::jobs_of_several_processes;
  if (tests::is_started())
    return tests::run_in_started(tests::number_of_environment("TEST_PROCESSES", 2),
                                 localities(count, helpers), each);
  return tests::run_in_processes(count, localities(count, helpers), each);
}
int run_on_one_worker_each(const std::function<void(communicator&)>& body) {
  ++tests::jobs_of_several_processes;
  return tests::is_started() ? tests::run_in_started(2, localities(2, 0), body)
                             : tests::run_in_processes(2, localities(2, 0), body);
}
locality next() {
  return locality((here().number() + 1) % locality_count());
}

struct particle {
  double x, y;
  int id;
  friend bool operator==(const particle&, const particle&) = default;
};
struct cell {
  std::string name;
  std::vector<particle> inside;
  std::array<int, 3> at{};
  std::vector<std::string> notes;
  friend bool operator==(const cell&, const cell&) = default;
};
#ifdef WEFT_PARCELS_HAVE_CEREAL
class table {
 public:
  table() = default;
  explicit table(int n) {
    for (int i = 0; i < n; ++i) rows_[i] = {std::to_string(i), std::vector<double>(2000, i)};
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(rows_, extra_);
  }
  friend bool operator==(const table&, const table&) = default;

 private:
  std::map<int, std::pair<std::string, std::vector<double>>> rows_;
  std::vector<double> extra_ = std::vector<double>(5000, 0.5);
};
#endif

int twice(int x) {
  return 2 * x;
}
void nothing() {}
std::string joined(const std::string& a, std::string b) {
  return a + b;
}
std::vector<double> reversed(std::vector<double> values) {
  std::ranges::reverse(values);
  return values;
}
cell moved_cell(cell of, int by) {
  for (particle& p : of.inside) p.x += by;
  return of;
}
int fails(int how) {
  if (how == 0) throw std::out_of_range("it is out of range");
  if (how == 1) throw 5;
  return how;
}
std::uint64_t fibonacci(int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  auto further = async(next(), action<&fibonacci>, n - 1);
  const std::uint64_t here_too = fibonacci(n - 2);
  return here_too + further.get();
}
future<int> later(int x) {
  const int y = co_await async(next(), twice, x);
  co_return y + 1;
}
int not_registered(int x) {
  return x;
}
WEFT_ACTION(twice);
WEFT_ACTION(nothing);
WEFT_ACTION(joined);
WEFT_ACTION(reversed);
WEFT_ACTION(moved_cell);
WEFT_ACTION(fails);
WEFT_ACTION(later);
std::uint64_t refused_here();
WEFT_ACTION(refused_here);

void call_everything() {
  const locality there = next();
  EXPECT_EQ(sync(there, twice, 21), 42);
  sync(there, nothing);
  EXPECT_EQ(sync(there, joined, "a", std::string("b")), "ab");
  EXPECT_EQ(sync(there, action<&twice>, 4), 8);
  EXPECT_EQ(sync(
                there, [](int a, const std::string& b) { return std::to_string(a) + b; }, 1, "x"),
            "1x");
  EXPECT_EQ(sync(there, later, 5), 11);
  std::vector<double> values(20'000);
  std::iota(values.begin(), values.end(), 0.0);
  const std::vector<double> before = values;
  const std::vector<double> back = sync(there, reversed, values);  // A copy,
  EXPECT_EQ(values, before);
  EXPECT_TRUE(std::equal(back.rbegin(), back.rend(), before.begin(), before.end()));
  EXPECT_EQ(sync(there, reversed, std::move(values)).front(), 19'999);  // and none.
  const std::string longer(100'000, 'y');
  EXPECT_EQ(sync(there, joined, longer, longer).size(), 200'000u);
  const cell of{"cell",
                std::vector<particle>(1000, {1, 2, 3}),
                {4, 5, 6},
                {"one", "", std::string(9000, 'z')}};
  cell wanted = of;
  for (particle& p : wanted.inside) p.x += 7;
  EXPECT_EQ(sync(there, moved_cell, of, 7), wanted);
#ifdef WEFT_PARCELS_HAVE_CEREAL
  const table t(20);
  EXPECT_EQ(sync(
                there, [](const table& x, std::optional<std::string> y) { return y ? x : table(); },
                t, std::optional<std::string>("?")),
            t);
#endif
}

TEST(parcel, arguments_and_results_of_many_types_come_as_they_were) {
  EXPECT_EQ(run_localities(1, call_everything), 0);
  EXPECT_EQ(run_localities(2, call_everything), 0);
}

TEST(parcel, localities_know_themselves_and_each_other) {
  EXPECT_EQ(run_localities(3,
                           [] {
                             EXPECT_LT(here().number(), locality_count());
                             EXPECT_EQ(all_localities().size(),
                                       static_cast<std::size_t>(locality_count()));
                             for (const locality there : all_localities())
                               EXPECT_EQ(sync(there, [] { return here(); }), there);
                           }),
            0);
}

TEST(parcel, goes_over_the_port_that_was_asked_for) {
  const auto body = [] {
    const char* const asked = std::getenv("WEFT_PARCELPORT");
    EXPECT_EQ(detail::parcel_layer::here("test").port().name(),
              detail::parcelport_name::of(asked != nullptr ? asked : "lci_i").kind);
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

struct own_error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// Of a kind, with a text.
int throws(int kind, const std::string& text) {
  switch (kind) {
    case 0:
      throw std::out_of_range(text);
    case 1:
      throw std::runtime_error(text);
    case 2:
      throw own_error(text);
    case 3:
      throw std::bad_alloc();
    case 4:
      throw std::system_error(ENOENT, std::system_category(), text);
    case 5:
      throw error(text);
    case 6:
      throw std::bad_optional_access();
    case 7:
      return sync(next(), action<&throws>, 0, text);
    default:
      return 0;
  }
}
template <class E>
std::string text_thrown_as(int kind, const std::string& text) {
  try {
    sync(next(), action<&throws>, kind, text);
    ADD_FAILURE() << "nothing thrown of kind " << kind;
  } catch (const E& e) {
    EXPECT_NE(dynamic_cast<const remote_error*>(&e), nullptr);
    EXPECT_EQ(dynamic_cast<const remote_error&>(e).what(), e.what());
    return e.what();
  }
  return {};
}

// Whoever handles them need not know where they were thrown.
TEST(parcel, exceptions_come_as_they_were) {
  const auto body = [] {
    for (const std::string& text : {std::string(), std::string("line 1\nline 2\ttab\n"),
                                    std::string("a \"file\" größer: 日本"), std::string(300, 'e'),
                                    std::string(100'000, 'f'), std::string(1'000'000, 'g')}) {
      EXPECT_EQ(text_thrown_as<std::out_of_range>(0, text), text);
      EXPECT_EQ(text_thrown_as<std::runtime_error>(1, text), text);
    }
    EXPECT_EQ(text_thrown_as<std::logic_error>(0, "a"), "a");
    EXPECT_EQ(text_thrown_as<std::invalid_argument>(2, "b"), "b");
    EXPECT_EQ(text_thrown_as<std::bad_alloc>(3, ""), std::bad_alloc().what());
    EXPECT_EQ(text_thrown_as<error>(5, "c"), "c");
    EXPECT_EQ(text_thrown_as<std::bad_optional_access>(6, ""), std::bad_optional_access().what());
    EXPECT_EQ(text_thrown_as<std::out_of_range>(7, "from afar"), "from afar");
    const std::string wanted = std::system_error(ENOENT, std::system_category(), "d").what();
    EXPECT_EQ(text_thrown_as<std::system_error>(4, "d"), wanted);
    try {
      sync(next(), action<&throws>, 4, "d");
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::error_code(ENOENT, std::system_category()));
    }
    try {
      sync(next(), action<&throws>, 2, "two\nlines");
    } catch (const remote_error& e) {
      expect_contains(e.type(), "own_error");
      expect_contains(e.action(), "throws");
      EXPECT_EQ(e.explanation(),
                "two\\nlines (thrown by weft::(anonymous namespace)::throws in locality " +
                    std::to_string(next().number()) + ")");
    }
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

TEST(parcel, exceptions_travel_with_their_text_and_type) {
  EXPECT_EQ(run_localities(2,
                           [] {
                             try {
                               sync(next(), fails, 0);
                               ADD_FAILURE();
                             } catch (const remote_error& e) {
                               EXPECT_STREQ(e.what(), "it is out of range");
                               EXPECT_EQ(e.action(), "weft::(anonymous namespace)::fails");
                               EXPECT_EQ(e.from(), next());
                               EXPECT_EQ(e.type(), "std::out_of_range");
                             }
                             EXPECT_THROW(sync(next(), fails, 1), remote_error);
                             EXPECT_THROW(sync(here(), fails, 0), std::out_of_range);
                           }),
            0);
}

namespace one_space {
int same_name(int x) {
  return x + 1;
}
WEFT_ACTION(same_name);
}  // namespace one_space
namespace other_space {
int same_name(int x) {
  return x + 2;
}
WEFT_ACTION(same_name);
int same_name(double x) {
  return static_cast<int>(x) + 3;
}
static int of_file(int x) {
  return x + 4;
}
WEFT_ACTION(of_file);
}  // namespace other_space

TEST(parcel_names, have_their_namespace_and_parameters) {
  const auto body = [] {
    EXPECT_EQ(sync(next(), one_space::same_name, 0), 1);
    EXPECT_EQ(sync(next(), static_cast<int (*)(int)>(other_space::same_name), 0), 2);
    EXPECT_EQ(sync(next(), action<static_cast<int (*)(double)>(&other_space::same_name)>, 0.0), 3);
    EXPECT_EQ(sync(next(), other_space::of_file, 0), 4);
    EXPECT_EQ(sync(next(), action<&other_space::of_file>, 0), 4);
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

// Names as the compiler makes them of what is local to files: two of one name, in files of one name, and one in a copy.
TEST(parcel_names, have_the_file_where_they_are_local_to_one) {
  static const char keys[6]{};
  const auto entry = [&](const char* name, const char* file, int key) {
    return detail::action_target{name, file, &keys[key], false, {"FiiE", 0}};
  };
  const auto runs = [](detail::received_call&) {};
  constexpr const char* unnamed =
      "N4weft6detail16function_as_typeIXadL_ZN12_GLOBAL__N_18made_up_EiEEEE";
  constexpr const char* is_static = "N4weft6detail16function_as_typeIXadL_ZL8made_up_iEEEE";
  constexpr const char* nested = "N4weft6detail16function_as_typeIXadL_ZN1aL8made_up_EiEEEE";
  constexpr const char* of_all = "N4weft6detail16function_as_typeIXadL_Z8made_up_iEEEE";
  static detail::action_entry first(entry(unnamed, "some/one.cpp", 0), runs);
  static detail::action_entry second(entry(unnamed, "some/two.cpp", 1), runs);
  static detail::action_entry third(entry(unnamed, "others/two.cpp", 2), runs);
  static detail::action_entry fourth(entry(is_static, "one.cpp", 3), runs);
  static detail::action_entry fifth(entry(nested, "one.cpp", 4), runs);
  static detail::action_entry sixth(entry(of_all, "one.cpp", 5), runs);
  static detail::action_entry again(entry(of_all, "two.cpp", 5), runs);
  std::vector<std::string> names;
  for (const detail::known_action& one : detail::known_actions().by_number)
    if (one.name.find("made_up_") != std::string::npos) names.push_back(one.name);
  std::ranges::sort(names);
  std::vector<std::string> wanted{
      std::string(unnamed) + "\x01one.cpp",   std::string(unnamed) + "\x01two.cpp",
      std::string(unnamed) + "\x01two.cpp 2", std::string(is_static) + "\x01one.cpp",
      std::string(nested) + "\x01one.cpp",    of_all};
  std::ranges::sort(wanted);
  EXPECT_EQ(names, wanted);
  EXPECT_EQ(sixth.index.load(), again.index.load());
  EXPECT_NE(second.index.load(), third.index.load());
  EXPECT_EQ(detail::name_of(fifth), "a::made_up_");
}

TEST(parcel_names, that_differ_are_told_with_their_types) {
  using detail::difference_of_actions;
  const auto list = [](std::initializer_list<std::string> parts) {
    std::string text;
    for (const std::string& part : parts) text.append(part).push_back('\0');
    return text;
  };
  const std::string one = "N4weft6detail16function_as_typeIXadL_Z3oneiEEEE";
  const std::string other = "N4weft6detail16function_as_typeIXadL_Z3onefEEEE";
  const std::string mine = list({one, "FiiE", "7"});
  EXPECT_EQ(difference_of_actions(mine, 1, mine, 0), "");
  EXPECT_EQ(
      difference_of_actions(mine, 1, list({other, "FffE", "7"}), 0),
      "the action one is of type \"int (int)\" in process 1 and \"float (float)\" in process 0: build the "
      "programs of all processes from one declaration of it");
  expect_contains(difference_of_actions(mine, 2, list({one, "FfiE", "7"}), 1),
                  "is of type \"int (int)\" in process 2 and \"float (int)\" in process 1:");
  expect_contains(difference_of_actions(mine, 2, list({one, "FiiE", "8"}), 1),
                  "(the names are the same, what they stand for is not)");
  expect_contains(difference_of_actions(mine, 1, "", 0),
                  "\"one\" is in process 1 alone, process 0 has none that the other has not");
  // Nothing of it is believed.
  for (std::size_t cut = 0; cut + 1 < mine.size(); ++cut)
    EXPECT_NE(difference_of_actions(mine, 1, mine.substr(0, cut), 0), "") << cut;
  EXPECT_NE(difference_of_actions(mine, 1, std::string(1000, '\0'), 0), "");
}

// Longer chunks go over an MPI in parts.
TEST(parcel, chunks_longer_than_a_port_sends_at_once_come_whole) {
  const struct short_parts {
    short_parts() { detail::mpi_part_bytes_max = 5000; }
    ~short_parts() { detail::mpi_part_bytes_max = std::size_t{1} << 30; }
  } while_here;
  const auto body = [] {
    for (const std::size_t size : {8192u, 9999u, 10'000u, 10'001u, 123'456u})
      EXPECT_TRUE(sync(next(), reversed, std::vector<double>(size, 1.5)) ==
                  std::vector<double>(size, 1.5))
          << size;
    const std::vector<std::vector<double>> several{
        std::vector<double>(2000, 1), {2, 3}, std::vector<double>(3000, 4)};
    EXPECT_EQ(sync(
                  next(), [](std::vector<std::vector<double>> back) { return back; }, several),
              several);
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

TEST(parcel, calls_call_further_while_they_wait) {
  EXPECT_EQ(
      run_localities(2, [] { EXPECT_EQ(fibonacci(sanitized ? 8 : 11), sanitized ? 21u : 89u); }),
      0);
  EXPECT_EQ(run_localities(1, [] { EXPECT_EQ(fibonacci(11), 89u); }), 0);
}

future<int> sum_of_calls(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await async(next(), twice, i);
  co_return sum;
}

TEST(parcel, many_calls_are_under_way_at_a_time) {
  EXPECT_EQ(run_localities(
                3,
                [] {
                  std::vector<future<int>> all;
                  for (int i = 0; i < 500; ++i)
                    all.push_back(async(locality(i % locality_count()), twice, i));
                  future<int> alone = sum_of_calls(50);
                  int sum = 0;
                  for (future<int>& one : when_all(std::move(all)).get()) sum += one.get();
                  EXPECT_EQ(sum, 500 * 499);
                  EXPECT_EQ(alone.get(), 50 * 49);
                  // From tasks, on whichever worker they run.
                  task_group group;
                  for (int i = 0; i < 50; ++i)
                    group.spawn([i] { EXPECT_EQ(sync(next(), twice, i), 2 * i); });
                  group.wait();
                  EXPECT_EQ(async(next(), twice, 3).then([](int x) { return x + 1; }).get(), 7);
                }),
            0);
}

TEST(parcel, what_is_posted_runs_before_the_job_ends) {
  static std::atomic<int> ran;
  ran = 0;
  const int n = 100;
  EXPECT_EQ(run_localities(2,
                           [] {
                             for (int i = 0; i < n; ++i)
                               post(
                                   next(), [](int) { ran.fetch_add(1); }, i);
                           }),
            0);
  EXPECT_EQ(ran.load(), tests::is_started() ? n : 2 * n);
}

std::vector<std::uint8_t> content_of(std::uint64_t seed, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::uint64_t word = seed * 0x9e37'79b9'7f4a'7c15;
  for (std::size_t at = 0; at < size; at += sizeof word) {
    word = word * 6364136223846793005 + 1442695040888963407;
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}
// The next content, of so many bytes.
std::vector<std::uint8_t> content_after(const std::vector<std::uint8_t>& in, std::uint64_t seed,
                                        std::uint64_t out) {
  if (in != content_of(seed, in.size()))
    throw error("what came is not what was sent: " + std::to_string(in.size()) + " B");
  return content_of(seed + 1, out);
}
WEFT_ACTION(content_after);

// 0 B to 64 MiB: most are short, and each length is as likely as twice that. TEST_PARCELS says how many each locality sends.
TEST(parcel, sizes_in_any_order_and_direction) {
  const auto body = [] {
    const auto count = static_cast<std::uint64_t>(
        tests::number_of_environment("TEST_PARCELS", sanitized ? 60 : 500));
    const auto seed = static_cast<std::uint64_t>(tests::number_of_environment("TEST_SEED", 1));
    constexpr std::size_t most = std::size_t{64} << 20;
    constexpr std::size_t under_way_max = 64;
    std::mt19937_64 random(seed * 2 + static_cast<std::uint64_t>(here().number()));
    const auto size = [&random] {
      const std::uint64_t kind = random() % 1000;
      const double bits = kind == 0 ? 26 : kind < 100 ? 18 : 12;
      return static_cast<std::size_t>(std::exp2(std::uniform_real_distribution(0.0, bits)(random)) -
                                      1);
    };
    std::deque<std::pair<future<std::vector<std::uint8_t>>, std::size_t>> under_way;
    std::uint64_t next_one = 0, ended = 0;
    const auto end_oldest = [&] {
      auto& [result, wanted] = under_way.front();
      EXPECT_TRUE(result.get() == content_of(ended + 1, wanted))
          << "the result of parcel " << ended << ", " << wanted << " B; TEST_SEED=" << seed;
      under_way.pop_front();
      ++ended;
    };
    for (; next_one < count; ++next_one) {
      if (under_way.size() == under_way_max) end_oldest();
      const bool is_longest = here() == locality(0) && next_one == count / 2 && !sanitized;
      const std::size_t bytes = is_longest ? most : size();
      const std::size_t back = random() % 4 == 0 ? size() : random() % 64;
      under_way.emplace_back(
          async(next(), content_after, content_of(next_one, bytes), next_one, back), back);
    }
    while (!under_way.empty()) end_oldest();
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

std::string text_of_error(const std::function<void()>& called) {
  try {
    called();
  } catch (const error& e) {
    return e.what();
  }
  return "no error";
}

TEST(parcel, misuse_is_told) {
  expect_contains(text_of_error([] { static_cast<void>(here()); }), "outside of ranks and tasks");
  EXPECT_EQ(run_localities(2,
                           [] {
                             expect_contains(text_of_error([] { sync(locality(7), twice, 1); }),
                                             "async of locality 7: the job has localities 0 to 1");
                             expect_contains(text_of_error([] { sync(next(), not_registered, 1); }),
                                             "WEFT_ACTION");
                             expect_contains(text_of_error([] { sync(here(), not_registered, 1); }),
                                             "WEFT_ACTION");
                             parallel_for(0, 1, [](range_1d) {
                               expect_contains(text_of_error([] { (void)async(next(), twice, 1); }),
                                               "chunk of a loop");
                             });
                           }),
            0);
}

TEST(parcel, an_exception_that_nobody_waits_for_fails_the_job) {
  testing::internal::CaptureStderr();
  const int status = run_localities(2, [] {
    if (here() == locality(0)) post(next(), fails, 0);
  });
  std::string text = testing::internal::GetCapturedStderr();
  int greatest = status;
  if (tests::is_started()) tests::share(2, greatest, text);
  EXPECT_NE(greatest, 0);
  expect_contains(text,
                  "fails ended with an exception, and nobody waits for it: it is out of range");
}

// What is sent faster than it is begun waits at its sender.
void count_slowly(const std::vector<char>& what) {
  static std::atomic<int> sum{0};
  sum += static_cast<int>(what.size());
}
WEFT_ACTION(count_slowly);

TEST(parcel, no_more_is_under_way_than_the_other_side_has_room_for) {
  const auto flood = [] {
    if (here() != locality(0)) return;
    const detail::parcel_layer& layer = detail::parcel_layer::here("test");
    std::uint64_t most = 0;
    constexpr std::size_t bytes = 8000;
    constexpr int count = 3 * static_cast<int>(detail::parcel_bytes_under_way_max / bytes);
    for (int i = 0; i < count; ++i) {
      post(locality(1), count_slowly, std::vector<char>(bytes, 'a'));
      most = std::max(most, layer.bytes_under_way(1));
    }
    // One that finds room may be longer than that.
    EXPECT_LT(most, detail::parcel_bytes_under_way_max + 2 * bytes);
    EXPECT_GT(most, bytes);
    sync(locality(1), twice, 1);
  };
  EXPECT_EQ(run_localities(2, flood), 0);
}

TEST(parcel, localities_that_flood_each_other_and_call_back_go_on) {
  const auto flood = [] {
    const locality there = next();
    std::vector<future<int>> results;
    constexpr int count = sanitized ? 60 : 300;
    for (int i = 0; i < count; ++i)
      results.push_back(async(
          there,
          [](locality from, const std::vector<char>& what) {
            return sync(from, joined, "a", std::string(what.size(), 'b')).size() == what.size() + 1
                       ? 1
                       : 0;
          },
          here(), std::vector<char>(i % 3 == 0 ? 200'000 : 5000, 'a')));
    int sum = 0;
    for (future<int>& each : results) sum += each.get();
    EXPECT_EQ(sum, count);
  };
  EXPECT_EQ(run_localities(2, flood), 0);
}

std::atomic<int> come_at_once{0};
void come() {
  ++come_at_once;
}
WEFT_ACTION(come);

// What is sent in progress does not wait until the other side takes it, which may do the same.
TEST(parcel, localities_that_flood_each_other_in_progress_go_on) {
  constexpr int count = 40'000;
  come_at_once = 0;
  const auto flood = [](communicator& world) {
    detail::parcel_header header;
    header.kind = detail::parcel_kind::post;
    header.action = detail::action_of_function(reinterpret_cast<const void*>(&come)).index.load();
    detail::parcelport& port = detail::parcel_layer::here("test").port();
    world.barrier();  // Both begin together.
    for (int i = 0; i < count; ++i)
      port.send_at_once(*worker::current(), next().number(), -1,
                        std::as_bytes(std::span(&header, 1)));
  };
  EXPECT_EQ(run_on_one_worker_each(flood), 0);
  EXPECT_EQ(come_at_once, tests::is_started() ? count : 2 * count);
}

std::atomic<int> let_go{0};
void let_them_go() {
  ++let_go;
}
WEFT_ACTION(let_them_go);

// What comes is taken by another worker, also where it belongs to the first one's share of devices.
TEST(parcel, a_locality_one_of_whose_workers_computes_takes_what_comes) {
  let_go = 0;
  const auto body = [] {
    // Each worker of these has a device of its own, which nobody else looks at.
    if (detail::parcel_layer::here("test").port().name() == "lci") return;
    if (here() == locality(0)) return post(locality(1), let_them_go);
    while (let_go == 0) {
    }
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

// A port may have much in hand that nobody has asked for.
std::vector<char> a_million(char of) {
  return std::vector<char>(1'000'000, of);
}
WEFT_ACTION(a_million);

TEST(parcel, long_results_that_nobody_takes_yet_are_waited_for) {
  const auto body = [] {
    if (here() != locality(0)) return;
    std::vector<future<std::vector<char>>> results;
    for (int i = 0; i < 100; ++i) results.push_back(async(locality(1), a_million, 'a'));
    volatile std::uint64_t computed = 0;
    for (int i = 0; i < (sanitized ? 5'000'000 : 100'000'000); ++i) computed = computed + 1;
    for (auto& each : results) EXPECT_EQ(each.get(), a_million('a'));
  };
  EXPECT_EQ(run_localities(2, body, 0), 0);
}

#ifdef WEFT_PARCELS_HAVE_CEREAL
// As a program's own code may be.
struct refuses_to_be_read {
  std::string text;
  refuses_to_be_read() = default;
  explicit refuses_to_be_read(std::string of) : text(std::move(of)) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
    if constexpr (Archive::is_loading::value) throw std::runtime_error("it refuses to be read");
  }
};
int read_it(const refuses_to_be_read&) {
  return 1;
}
refuses_to_be_read give_it(int) {
  return refuses_to_be_read(std::string(10'000, 'b'));
}
WEFT_ACTION(read_it);
WEFT_ACTION(give_it);

// Not moved: it has a destructor.
struct copied_only {
  std::vector<double> values;
  explicit copied_only(std::size_t count = 0) : values(count, 1.5) {}
  copied_only(const copied_only&) = default;
  copied_only& operator=(const copied_only&) = default;
  ~copied_only() { std::ranges::fill(values, -1.0); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(values);
  }
};

TEST(parcel, results_that_cannot_be_moved_get_their_chunks) {
  const auto body = [] {
    for (const std::size_t count : {10u, 5'000u, 50'000u}) {
      const copied_only got = sync(
          next(), [](std::uint64_t n) { return copied_only(static_cast<std::size_t>(n)); }, count);
      EXPECT_EQ(got.values, std::vector<double>(count, 1.5));
    }
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

// Its chunks are received all the same, its room is given back, and the job ends.
TEST(parcel, arguments_and_results_that_cannot_be_read_leave_nothing_behind) {
  const auto body = [] {
    if (here() != locality(0)) return;
    const auto text_of = [](const auto& call) {
      try {
        static_cast<void>(call());
      } catch (const std::exception& e) {
        return std::string(e.what());
      }
      return std::string("no error");
    };
    for (int i = 0; i < 1000; ++i) {
      const std::string text = text_of(
          [] { return sync(locality(1), read_it, refuses_to_be_read(std::string(10'000, 'a'))); });
      ASSERT_NE(text.find("it refuses to be read"), std::string::npos) << text;
    }
    for (int i = 0; i < 100; ++i) {
      const std::string text = text_of([] { return sync(locality(1), give_it, 0); });
      ASSERT_NE(text.find("it refuses to be read"), std::string::npos) << text;
    }
    EXPECT_LT(detail::parcel_layer::here("test").bytes_under_way(1),
              detail::parcel_bytes_under_way_max);
  };
  EXPECT_EQ(run_localities(2, body), 0);
}
#endif

// The thread of an lci_..._core has a core that no worker of any process of its host has.
TEST(parcel_cores, are_those_that_no_worker_of_the_host_has) {
  using detail::core_beside_workers;
  using detail::cores_of_process;
  const std::vector<int> all{0, 1, 2, 3, 4, 5};
  const std::vector<cores_of_process> node{{{0, 1}, all}, {{2, 3}, all}};
  EXPECT_EQ(core_beside_workers(node, 0), 4);
  EXPECT_EQ(core_beside_workers(node, 1), 5);
  const std::vector<cores_of_process> full{{{0, 1}, {0, 1, 2, 3}}, {{2}, {0, 1, 2, 3}}};
  EXPECT_EQ(core_beside_workers(full, 0), 3);
  EXPECT_EQ(core_beside_workers(full, 1), std::nullopt);
  const std::vector<cores_of_process> apart{{{0}, {0, 1}}, {{2}, {2, 3}}};
  EXPECT_EQ(core_beside_workers(apart, 1), 3);
  const std::vector<cores_of_process> unbound{{{-1}, {0, 1}}, {{-1, -1}, {0, 1}}};
  EXPECT_EQ(core_beside_workers(unbound, 0), -1);
  EXPECT_EQ(core_beside_workers(unbound, 1), std::nullopt);
  for (const cores_of_process& one : node) {
    const cores_of_process read = cores_of_process::of(one.text());
    EXPECT_EQ(read.of_workers, one.of_workers);
    EXPECT_EQ(read.allowed, one.allowed);
  }
}

// As MPI_Init_thread makes it. What comes to it is refused, chunks as well, and their room is given back.
TEST(parcel, a_worker_that_runs_no_tasks_answers_with_an_error_and_lets_the_job_end) {
  for (const bool has_run_some : {true, false}) {
    const auto body = [&](communicator& world) {
      if (here() == locality(0)) {
        if (has_run_some) sync(locality(1), nothing);  // What comes counts as work.
        worker::current()->share();
        world.barrier();
        return world.barrier();
      }
      world.barrier();
      const auto expect_refusal = [](const auto& call) {
        try {
          call();
          ADD_FAILURE() << "a worker without tasks has run one";
        } catch (const remote_error& e) {
          expect_contains(e.what(), "which runs no tasks");
        }
      };
      expect_refusal([] { sync(locality(0), twice, 1); });
      const std::vector<double> values(20'000);
      const std::size_t more_than_there_is_room_for =
          detail::parcel_bytes_under_way_max / (values.size() * sizeof(double)) + 2;
      for (std::size_t i = 0; i < more_than_there_is_room_for; ++i)
        expect_refusal([&] { sync(locality(0), reversed, values); });
      post(locality(0), reversed, values);
      world.barrier();
    };
    EXPECT_EQ(run_on_one_worker_each(body), 0);
  }
}

TEST(parcel, a_result_that_comes_when_its_worker_runs_no_tasks_any_more_is_an_error) {
  const auto body = [](communicator& world) {
    if (here() == locality(0)) {
      future<std::vector<char>> far_too_late = async(locality(1), a_million, 'a');
      worker::current()->share();
      while (!far_too_late.is_ready()) {
      }
      expect_contains(text_of_error([&] { static_cast<void>(far_too_late.get()); }),
                      "which runs no tasks: take it before");
    }
    world.barrier();
  };
  EXPECT_EQ(run_on_one_worker_each(body), 0);
}

// A parcel may keep its tag until the numbers have begun again.
TEST(parcel_tags, that_are_taken_are_passed_over_when_the_numbers_begin_again) {
  detail::mpi_tags tags(2, 5, false);
  for (const int tag : {2, 3, 4, 5}) EXPECT_EQ(tags.take(), tag);
  EXPECT_EQ(tags.take(), 0);
  for (const int tag : {4, 2, 77}) tags.give_back(tag);
  EXPECT_EQ(tags.take(), 2);
  EXPECT_EQ(tags.take(), 4);
  EXPECT_EQ(tags.take(), 0);
}

std::vector<std::uint64_t> numbers_of(std::uint64_t seed, std::size_t count) {
  std::vector<std::uint64_t> made(count);
  std::mt19937_64 random(seed);
  for (std::uint64_t& one : made) one = random();
  return made;
}
bool is_numbers_of(std::uint64_t seed, const std::vector<std::uint64_t>& what) {
  return what == numbers_of(seed, what.size());
}
WEFT_ACTION(is_numbers_of);

std::atomic<int> held_up{0};
// Called twice, for two workers. The one takes what comes first, and lets no task run that is to receive its chunks; the
// other takes what comes next.
void hold_up() {
  using namespace std::chrono_literals;
  const bool takes_first = held_up.fetch_add(1) == 0;
  while (held_up < 2) (void)worker::current()->poll();
  const auto begin = std::chrono::steady_clock::now();
  const auto has_passed = [&](auto time) {
    return std::chrono::steady_clock::now() - begin >= time;
  };
  while (!has_passed(100ms))
    if (takes_first) (void)worker::current()->poll();
  while (takes_first && !has_passed(400ms)) {
  }
}
WEFT_ACTION(hold_up);

// What is sent with a tag may have left its sender, who takes the tag again, long before it is received.
TEST(parcel_tags, that_begin_again_lead_no_chunk_to_another_parcel) {
  const struct few_tags {
    few_tags() { detail::mpi_tag_last = 5; }
    ~few_tags() { detail::mpi_tag_last = std::numeric_limits<int>::max(); }
  } while_here;
  held_up = 0;
  const auto body = [] {
    if (here() != locality(0) ||
        !detail::parcel_layer::here("test").port().name().starts_with("mpi"))
      return;
    for (int i = 0; i < 2; ++i) post(locality(1), hold_up);
    std::vector<future<bool>> all;
    for (std::uint64_t i = 0; i < 8; ++i) {
      if (i % 4 == 0) sleep_for(std::chrono::milliseconds(i == 0 ? 40 : 150));
      all.push_back(async(locality(1), is_numbers_of, i, numbers_of(i, 1100)));
    }
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(all[i].get()) << i;
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

TEST(parcel_tags, that_come_back_are_taken_first_where_the_receiver_sends_them) {
  detail::mpi_tags tags(2, 1000, true);
  EXPECT_EQ(tags.take(), 2);
  EXPECT_EQ(tags.take(), 3);
  tags.give_back(2);
  tags.give_back(2);
  EXPECT_EQ(tags.take(), 2);
  EXPECT_EQ(tags.take(), 4);
}

// --- Objects ---------------------------------------------------------------------------------------

// Calls of one object may run at the same time, on different workers.
class account {
 public:
  explicit account(int balance) : balance_(balance) {}
  int withdraw(int by) {
    if (by > balance_) throw std::out_of_range("there is not so much in it");
    return balance_ -= by;
  }
  [[nodiscard]] int balance() const noexcept { return balance_; }
  future<int> after(int more) { co_return balance_ + co_await async(next(), twice, more); }

 private:
  std::atomic<int> balance_;
};
struct other_account {
  int balance = 0;
};
class titled {
 public:
  explicit titled(std::string title) : title_(std::move(title)) {}
  [[nodiscard]] const std::string& title() const noexcept { return title_; }

 private:
  std::string title_;
};

void expect_gone(object_id<account> id) {
  for (;;) {
    try {
      static_cast<void>(resolve(id).get());
    } catch (const error& e) {
      expect_contains(e.what(), "nobody referred to it");
      return;
    }
    yield();
  }
}

TEST(parcel, objects_live_as_long_as_anybody_refers_to_them) {
  const auto body = [] {
    for (const locality there : {next(), here()}) {
      object<account> mine = create<account>(there, 100).get();
      EXPECT_EQ(mine.where(), there);
      EXPECT_EQ(sync(create<titled>(there, "a title").get(), method<&titled::title>), "a title");
      EXPECT_EQ(sync(mine, method<&account::withdraw>, 30), 70);
      EXPECT_EQ(async(mine, method<&account::balance>).get(), 70);
      EXPECT_EQ(sync(mine, method<&account::after>, 4), 78);
      try {
        sync(mine, method<&account::withdraw>, 71);
        ADD_FAILURE() << "there is not so much in it";
      } catch (const remote_error& e) {
        expect_contains(e.explanation(),
                        "thrown by weft::(anonymous namespace)::account::withdraw");
      } catch (const std::out_of_range&) {
        EXPECT_EQ(there, here());
      }
      post(mine, method<&account::withdraw>, 0);
      // Another process gets a reference of its own, and gives it back.
      EXPECT_EQ(sync(
                    next(),
                    [](object_id<account> id) {
                      return sync(resolve(id).get(), method<&account::balance>);
                    },
                    mine.id()),
                70);
      const object<account> again = mine;
      const object_id<account> id = mine.id();
      mine = {};
      EXPECT_EQ(sync(again, method<&account::balance>), 70);
      try {
        static_cast<void>(resolve(object_id<other_account>{id.process, id.number}).get());
        ADD_FAILURE() << "it is of another type";
      } catch (const error& e) {
        expect_contains(e.what(), "other_account");
      }
      mine = again;
      const_cast<object<account>&>(again) = {};
      mine = {};
      expect_gone(id);
    }
    EXPECT_THROW(static_cast<void>(sync(object<account>(), method<&account::balance>)), error);
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

// Whatever overtakes what: the calls that were sent find it.
TEST(parcel, objects_live_until_all_that_was_called_has_run) {
  const auto body = [] {
    for (const locality there : {next(), here()}) {
      std::vector<future<int>> all;
      std::vector<object_id<account>> ids;
      for (int i = 0; i < 50; ++i) {
        object<account> mine = create<account>(there, 100).get();
        post(mine, method<&account::withdraw>, 1);
        all.push_back(async(mine, method<&account::balance>));
        all.push_back(async(mine, method<&account::after>, 1));
        ids.push_back(mine.id());
      }
      for (future<int>& each : all) EXPECT_NEAR(each.get(), 100, 2);
      for (const auto id : ids) expect_gone(id);
      // The last copy goes where nobody may wait.
      std::vector<object<account>> one{create<account>(there, 1).get()};
      const auto id = one.front().id();
      parallel_for(std::size_t{0}, std::size_t{1}, [&](std::size_t) { one.clear(); });
      expect_gone(id);
    }
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

TEST(parcel, objects_are_found_by_their_names) {
  const auto body = [] {
    const std::string mine = "account " + std::to_string(here().number());
    give_name(create<account>(next(), here().number()).get(), mine).get();
    EXPECT_EQ(sync(resolve<account>(mine).get(), method<&account::balance>), here().number());
    object<account> second = create<account>(here(), 1).get();
    EXPECT_THROW(give_name(second, mine).get(), error);
    const object_id<account> id = second.id();
    second = {};
    expect_gone(id);
    EXPECT_THROW(static_cast<void>(resolve<account>("nobody").get()), error);
    EXPECT_THROW(static_cast<void>(resolve<other_account>(mine).get()), error);
  };
  EXPECT_EQ(run_localities(2, body), 0);
}

std::uint64_t refused_here() {
  return detail::parcel_layer::here("test").refused();
}

// What another process says is not believed; what makes no sense is refused and counted, and the job goes on.
TEST(parcel, what_makes_no_sense_is_refused_and_counted) {
  using detail::parcel_header;
  using detail::parcel_kind;
  const auto attack = [] {
    if (here() != locality(0)) return;
    const auto forge = [](parcel_header header, std::size_t content, std::size_t cut = 0) {
      std::vector<std::byte> bytes(sizeof header + content);
      std::memcpy(bytes.data(), &header, sizeof header);
      bytes.resize(bytes.size() - cut);
      detail::parcel_layer::here("test").port().send_at_once(*worker::current(), 1, 0, bytes);
    };
    parcel_header call;
    call.kind = parcel_kind::post;
    call.action = detail::action_of_function(reinterpret_cast<const void*>(&twice)).index.load();
    call.size = 4;
    const parcel_header right = call;
    forge(right, 4, 20);  // Its header is cut off,
    forge(right, 4, 1);   // its arguments are,
    call.size = ~0u;
    forge(call, 4);  // or it says so.
    call = right;
    call.size = 3;
    forge(call, 3);  // Not an int.
    call = right;
    call.version = 77;
    forge(call, 4);
    call = right;
    call.kind = static_cast<parcel_kind>(200);
    forge(call, 4);
    call = right;
    call.chunk_count = 255;
    forge(call, 4);
    call = right;
    call.action = 1u << 30;
    forge(call, 4);
    call.kind = parcel_kind::call;  // Its caller is told, who knows nothing of it.
    call.call = 1u << 20;
    forge(call, 4);
    call = {};
    call.kind = parcel_kind::result;  // Of no call: with names of each kind.
    for (const std::uint64_t name :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 30, ~std::uint64_t{0}}) {
      call.call = name;
      forge(call, 0);
    }
    constexpr std::uint64_t forged = 13;
    while (sync(locality(1), &refused_here) < forged) yield();
    EXPECT_EQ(sync(locality(1), &refused_here), forged);
    while (refused_here() < 1) yield();
    EXPECT_EQ(refused_here(), 1u);
    EXPECT_EQ(sync(locality(1), twice, 4), 8);
  };
  testing::internal::CaptureStderr();
  const int status = run_localities(2, attack, 0);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 0) << text;
  if (!tests::is_started())
    expect_contains(text,
                    "a message of process 0 device 0 was refused: it is too short for a parcel");
}

future<void> wait_for(future<int> what) {
  static_cast<void>(co_await what);
}

// What waits without a stack is given up as well, while somebody could still set its future.
TEST(parcel, coroutines_that_wait_are_given_up_when_the_job_stops) {
  testing::internal::CaptureStderr();
  const int status = run_localities(2, [] {
    promise<int> never;
    future<void> waiting = wait_for(never.get_future());
    future<void> further = wait_for(async(next(), [] {
      promise<int> neither;
      return neither.get_future().get();
    }));
    if (here() == locality(0)) throw error("this job fails");
    waiting.wait();
  });
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(status, 0);
  if (!tests::is_started()) expect_contains(text, "this job fails");
}

// --- Encoding --------------------------------------------------------------------------------------

template <class T>
std::vector<std::byte> encoded(const T& value, std::vector<std::uint64_t>* chunks = nullptr) {
  detail::parcel_writer to(8192);
  detail::encode(to, value);
  to.finish();
  if (chunks != nullptr)
    for (const detail::parcel_chunk& one : to.chunks()) chunks->push_back(one.size);
  const auto bytes = to.bytes().subspan(detail::parcel_header_bytes);
  return {bytes.begin(), bytes.end()};
}
template <class T>
void expect_malformed(std::span<const std::byte> bytes, std::span<const std::uint64_t> chunks) {
  T value{};
  detail::parcel_reader from(bytes, std::as_bytes(chunks));
  EXPECT_THROW(
      {
        detail::decode(from, value);
        from.finish();
      },
      detail::malformed_parcel)
      << bytes.size();
}

struct position_of {
  double position[3];
};
struct named_point : position_of {
  std::string name;
};
struct with_room {  // Behind its last byte, which what is derived from it may use.
  double value = 0;
  char mark = 0;
};
struct in_its_room : with_room {
  char first;
  std::string text;
  short table[3][2];
  std::vector<int> list;
};
struct without_members {};
struct beside_nothing : without_members {
  int number;
  std::string text;
};
struct of_two : position_of, with_room {
  float number;
  std::string text;
};
struct no_more : position_of, with_room {};
struct base_and_member : position_of {
  position_of more;
  std::string text;
};
struct arrays {
  double position[3];
  std::string name;
  int table[2][2];
  std::string words[2];
  std::array<std::string, 2> others;
};

template <class T>
T sent_through(const T& value) {
  const std::vector<std::byte> bytes = encoded(value);
  T back{};
  detail::parcel_reader from(bytes, {});
  detail::decode(from, back);
  from.finish();
  return back;
}

TEST(parcel_encoding, aggregates_have_arrays_and_bases) {
  const arrays all = sent_through(
      arrays{{1, 2, 3}, "name", {{1, 2}, {3, 4}}, {"a", std::string(50, 'b')}, {"c", "d"}});
  EXPECT_EQ(all.position[2], 3);
  EXPECT_EQ(all.name, "name");
  EXPECT_EQ(all.table[1][0], 3);
  EXPECT_EQ(all.words[1], std::string(50, 'b'));
  EXPECT_EQ(all.others[1], "d");
  const named_point point = sent_through(named_point{{{1, 2, 3}}, "abcd"});
  EXPECT_EQ(point.position[1], 2);
  EXPECT_EQ(point.name, "abcd");
  in_its_room one;
  one.value = 1.5;
  one.mark = 'm';
  one.first = 'f';
  one.text = std::string(40, 't');
  for (short i = 0; i < 6; ++i) one.table[i / 2][i % 2] = i;
  one.list = {1, 2, 3};
  const in_its_room other = sent_through(one);
  EXPECT_EQ(other.value, 1.5);
  EXPECT_EQ(other.mark, 'm');
  EXPECT_EQ(other.first, 'f');
  EXPECT_EQ(other.text, one.text);
  EXPECT_EQ(other.table[2][1], 5);
  EXPECT_EQ(other.list, one.list);
  beside_nothing beside;
  beside.number = 5;
  beside.text = "five";
  EXPECT_EQ(sent_through(beside).text, "five");
  EXPECT_EQ(sent_through(beside).number, 5);
  of_two two;
  two.position[1] = 7;
  two.value = 8;
  two.mark = 'x';
  two.number = 2.5f;
  two.text = "two";
  const of_two second = sent_through(two);
  EXPECT_EQ(second.position[1], 7);
  EXPECT_EQ(second.mark, 'x');
  EXPECT_EQ(second.number, 2.5f);
  EXPECT_EQ(second.text, "two");
  no_more plain;
  plain.position[2] = 9;
  plain.value = 3;
  EXPECT_EQ(sent_through(plain).position[2], 9);
  EXPECT_EQ(sent_through(plain).value, 3);
  base_and_member both;
  both.position[0] = 1;
  both.more.position[2] = 4;
  both.text = "both";
  EXPECT_EQ(sent_through(both).position[0], 1);
  EXPECT_EQ(sent_through(both).more.position[2], 4);
  EXPECT_EQ(sent_through(both).text, "both");
}

#ifdef WEFT_PARCELS_HAVE_CEREAL
// Which its bytes alone would be enough for.
struct handle {
  int slot = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    if constexpr (Archive::is_loading::value) {
      archive(slot);
      slot += 100;
    } else {
      archive(slot);
    }
  }
};
struct with_handle {
  handle first;
  int second;
};
struct of_handle : position_of {
  handle first;
};

TEST(parcel_encoding, a_class_that_serializes_itself_does_so_wherever_it_is) {
  EXPECT_EQ(sent_through(handle{1}).slot, 101);
  EXPECT_EQ(sent_through(std::pair<handle, int>{{1}, 2}).first.slot, 101);
  EXPECT_EQ(sent_through(with_handle{{1}, 2}).first.slot, 101);
  EXPECT_EQ(sent_through(with_handle{{1}, 2}).second, 2);
  EXPECT_EQ(sent_through(of_handle{{}, {1}}).first.slot, 101);
  EXPECT_EQ((sent_through(std::array<handle, 2>{{{1}, {2}}})[1].slot), 102);
  EXPECT_EQ(sent_through(std::vector<handle>{{1}, {2}})[1].slot, 102);
  EXPECT_EQ(sent_through(std::optional<handle>(handle{3}))->slot, 103);
  EXPECT_EQ((std::get<handle>(sent_through(std::variant<int, handle>(handle{4}))).slot), 104);
}
#endif

TEST(parcel_encoding, what_is_cut_off_or_too_long_is_refused) {
  const cell of{"cell", std::vector<particle>(10, {1, 2, 3}), {4, 5, 6}, {"one", "", "two"}};
  std::vector<std::byte> bytes = encoded(of);
  {
    cell back;
    detail::parcel_reader from(bytes, {});
    detail::decode(from, back);
    from.finish();
    EXPECT_EQ(back, of);
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    expect_malformed<cell>(std::span(bytes).first(size), {});
  bytes.push_back(std::byte{0});
  expect_malformed<cell>(bytes, {});
}

TEST(parcel_encoding, lengths_that_lie_are_refused_before_there_is_room_for_them) {
  for (const std::uint64_t length : {std::uint64_t{1}, std::uint64_t{9}, std::uint64_t{1} << 40,
                                     ~std::uint64_t{0} >> 1, ~std::uint64_t{0}}) {
    std::vector<std::byte> bytes(sizeof length);
    std::memcpy(bytes.data(), &length, sizeof length);
    expect_malformed<std::vector<double>>(bytes, {});
    expect_malformed<std::vector<std::string>>(bytes, {});
    expect_malformed<std::string>(bytes, {});
  }
}

TEST(parcel_encoding, only_what_is_long_becomes_a_chunk) {
  std::vector<std::uint64_t> chunks;
  std::vector<std::byte> bytes = encoded(std::vector<std::uint8_t>(8191), &chunks);
  EXPECT_TRUE(chunks.empty());
  bytes = encoded(std::vector<std::uint8_t>(8192), &chunks);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(bytes.size(), 8u);
  expect_malformed<std::vector<std::uint8_t>>(bytes, {});  // Without its chunk,
  chunks[0] = 8191;
  expect_malformed<std::vector<std::uint8_t>>(bytes, chunks);  // of another size,
  chunks = {8192, 8192};
  expect_malformed<std::vector<std::uint8_t>>(bytes, chunks);  // or one too many.
  chunks = {(std::uint64_t{4} << 30) + 1};  // Nobody makes room for any size that is said.
  const std::uint64_t length = detail::length_in_chunk | chunks[0];
  std::memcpy(bytes.data(), &length, sizeof length);
  expect_malformed<std::vector<std::uint8_t>>(bytes, chunks);
  chunks = {8};  // What is that short would lie in the string itself, which may be moved.
  const std::uint64_t short_one = detail::length_in_chunk | chunks[0];
  std::memcpy(bytes.data(), &short_one, sizeof short_one);
  expect_malformed<std::string>(bytes, chunks);
  expect_malformed<std::vector<std::uint8_t>>(bytes, chunks);
  // No more than fit into the transmission chunk.
  chunks.clear();
  const std::vector<std::vector<std::uint8_t>> many(100, std::vector<std::uint8_t>(9000));
  bytes = encoded(many, &chunks);
  EXPECT_EQ(chunks.size(), detail::parcel_chunks_max);
  EXPECT_EQ(bytes.size(), 8 + 100 * 8 + (100 - chunks.size()) * 9000);
#ifdef WEFT_PARCELS_HAVE_CEREAL
  chunks.clear();
  bytes = encoded(std::set<std::string>{std::string(9000, 'a')}, &chunks);
  EXPECT_TRUE(chunks.empty());  // A key.
#endif
}

}  // namespace
}  // namespace weft

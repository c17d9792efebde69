// The parts of weftrun without processes: the state of a job, its shape, its frames, what it waits for.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "process/loader/copied_file.hpp"
#include "weft/error.hpp"
#include "weftrun/event_loop.hpp"
#include "weftrun/job_server.hpp"
#include "weftrun/job_shape.hpp"
#include "weftrun/output.hpp"
#include "weftrun/program.hpp"
#include "weftrun/sweeper.hpp"

namespace weft {
namespace {

job_description job_of(int processes) {
  job_description job{.id = "abc"};
  job.hosts = {"left", "right"};
  for (int i = 0; i < processes; ++i) job.host_index.push_back(i * 2 / processes);
  return job;
}

// Speaks for processes and keeps what each of them hears.
class conversation {
 public:
  explicit conversation(int processes) : server_(job_of(processes)) {}

  std::vector<frame> says(int process, frame_kind kind, int argument = 0,
                          std::string payload = {}) {
    return server_.take(
        {.kind = kind, .process = process, .argument = argument, .payload = std::move(payload)});
  }
  std::vector<frame> puts(int process, std::string_view key, std::string_view value) {
    return says(process, frame_kind::put, 0, field_writer().text(key).text(value).take());
  }
  frame gets(int process, int of, std::string_view key) {
    return says(process, frame_kind::get, 5, field_writer().number(of).text(key).take()).at(0);
  }
  bool ends(int process, const std::string& why, bool good) {
    told_.clear();
    return server_.ended(process, why, good, told_);
  }
  const std::vector<frame>& told() const { return told_; }
  int told_status() const { return server_.told_status(); }
  std::vector<std::string> missed() { return server_.take_missed(); }

 private:
  job_server server_;
  std::vector<frame> told_;
};

std::vector<int> receivers(const std::vector<frame>& frames, frame_kind kind) {
  std::vector<int> processes;
  for (const frame& one : frames)
    if (one.kind == kind) processes.push_back(one.process);
  return processes;
}

using numbers = std::vector<int>;

// Segments of libfabric's own shm provider bear the number of their process.
TEST(remove_segments, removes_those_of_dead_processes_of_the_job_and_no_others) {
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const std::string theirs = formatted("/dev/shm/{}:0:0", dead);
  const std::string living = formatted("/dev/shm/{}:0:0", ::getpid());
  const std::string other = formatted("/dev/shm/{}:x", dead + 1'000'000'000);
  for (const std::string& name : {theirs, living, other}) std::ofstream(name) << "x";
  remove_segments("no-such-job", {dead, ::getpid()});
  EXPECT_FALSE(std::filesystem::exists(theirs));
  EXPECT_TRUE(std::filesystem::exists(living));
  EXPECT_TRUE(std::filesystem::exists(other));
  std::filesystem::remove(living);
  std::filesystem::remove(other);
}

// A quarter of 1,000 mappings protects the first 62 copies of 4 mappings; each has a stack of 2.
TEST(copies_that_fit, take_85_percent_of_the_mappings_with_their_stacks) {
  EXPECT_EQ(process::protected_copies_max(4, 1000), 62u);
  const std::size_t fit = process::copies_that_fit(4, 3, 1000);
  EXPECT_LE(62 * (4 + 2) + (fit - 62) * (3 + 2), 850u);
  EXPECT_GT(62 * (4 + 2) + (fit + 1 - 62) * (3 + 2), 850u);
  // Of many files: none is left for unprotected ones.
  EXPECT_EQ(process::copies_that_fit(1, 1, 100), 25 + (85 - 25 * 3) / 3u);
  EXPECT_EQ(process::copies_that_fit(600, 450, 1000), 1u);
  EXPECT_EQ(process::copies_that_fit(4, 3, 65530), 10321u);
}

TEST(ranks_of_each_process, are_as_many_in_as_few_processes_as_hold_them) {
  EXPECT_EQ(ranks_of_each_process(100, 1, 100), 0);
  EXPECT_EQ(ranks_of_each_process(101, 1, 100), 51);
  EXPECT_EQ(ranks_of_each_process(250, 1, 100), 84);
  EXPECT_EQ(ranks_of_each_process(200, 2, 100), 0);
  EXPECT_EQ(ranks_of_each_process(202, 2, 100), 51);
  EXPECT_EQ(ranks_of_each_process(5, 1, 1), 1);
  for (int ranks = 2; ranks < 400; ranks += 7)
    for (int hosts = 1; hosts < 4; ++hosts)
      if (const int each = ranks_of_each_process(ranks, hosts, 60); each != 0) {
        EXPECT_LE(each, 60) << ranks << ' ' << hosts;
        const options how{.ranks = ranks, .ranks_per_process = each};
        EXPECT_GE(
            shape_of(how, std::vector<host_cores>(static_cast<std::size_t>(hosts))).processes(),
            hosts);
      }
}

// Three mappings for the copy, one that is protected and two for the stack: 85 of 100 mappings hold fourteen or a few more.
TEST(ranks_of_one_process, are_limited_where_the_ranks_have_copies) {
  if (std::filesystem::exists(WEFT_PROGRAM_DIR "/image/globals")) {
    const int few = ranks_of_one_process({WEFT_PROGRAM_DIR "/image/globals"}, 100);
    EXPECT_GE(few, 12);
    EXPECT_LE(few, 17);
  }
  EXPECT_EQ(ranks_of_one_process({"/bin/true"}, 100), ranks_max);
}

// Elsewhere constants and code that follow each other are one mapping.
TEST(mappings_of_copy, count_each_segment_of_a_file_whose_code_the_loader_writes) {
  const std::string library =
      std::filesystem::temp_directory_path() / formatted("weft-code-{}.so", getpid());
  const std::string command = formatted(
      "printf '.text\\nf: .quad g\\n.data\\n.globl g\\ng: .quad 1\\n.section .rodata\\n.quad 2\\n' | "
      "cc -shared -nostdlib -Wl,-z,notext,-z,separate-code,-z,norelro -x assembler - -o {}",
      library);
  if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no cc";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const process::elf_file file(library);
  std::filesystem::remove(library);
  ASSERT_TRUE(file.has_text_relocations());
  const auto segments = std::ranges::count(file.segments(), PT_LOAD, &ElfW(Phdr)::p_type);
  EXPECT_GE(segments, 3);
  EXPECT_EQ(process::mappings_of_copy(file, false), static_cast<std::size_t>(segments) + 1);
}

TEST(job_server, a_fence_lets_go_when_the_last_has_come) {
  conversation job(3);
  for (int i = 0; i < 3; ++i) job.says(i, frame_kind::join);
  EXPECT_TRUE(job.says(2, frame_kind::fence).empty());
  EXPECT_TRUE(job.says(0, frame_kind::fence).empty());
  EXPECT_EQ(receivers(job.says(1, frame_kind::fence), frame_kind::fence_done), (numbers{0, 1, 2}));
}

TEST(job_server, a_fence_waits_for_those_that_have_not_joined) {
  conversation job(2);
  job.says(0, frame_kind::join);
  EXPECT_TRUE(job.says(0, frame_kind::fence).empty());
  EXPECT_EQ(receivers(job.says(1, frame_kind::join), frame_kind::fence_done), numbers{});
  EXPECT_EQ(receivers(job.says(1, frame_kind::fence), frame_kind::fence_done), (numbers{0, 1}));
}

TEST(job_server, a_fence_goes_on_without_the_dead_and_the_finished) {
  conversation job(3);
  for (int i = 0; i < 3; ++i) job.says(i, frame_kind::join);
  job.says(0, frame_kind::fence);
  EXPECT_TRUE(job.ends(1, "killed", false));
  EXPECT_EQ(receivers(job.told(), frame_kind::fence_done), numbers{});
  EXPECT_EQ(receivers(job.says(2, frame_kind::finish), frame_kind::fence_done), numbers{0});
}

TEST(job_server, a_fence_of_a_second_job_waits_for_those_that_are_in_the_first) {
  conversation job(2);
  for (int i = 0; i < 2; ++i) job.says(i, frame_kind::join);
  job.says(0, frame_kind::finish);
  job.says(0, frame_kind::join);
  EXPECT_TRUE(job.says(0, frame_kind::fence).empty());
  // The other one's fence is of the first job, whose only member it is by now.
  EXPECT_EQ(receivers(job.says(1, frame_kind::fence), frame_kind::fence_done), numbers{1});
  job.says(1, frame_kind::finish);
  job.says(1, frame_kind::join);
  EXPECT_EQ(receivers(job.says(1, frame_kind::fence), frame_kind::fence_done), (numbers{0, 1}));
}

TEST(job_server, knows_that_a_process_has_told_why_until_that_one_joins_another_job) {
  conversation job(2);
  for (int i = 0; i < 2; ++i) job.says(i, frame_kind::join);
  EXPECT_EQ(job.told_status(), 0);
  job.says(1, frame_kind::told, 124);
  EXPECT_EQ(job.told_status(), 124);
  job.says(1, frame_kind::finish);
  EXPECT_EQ(job.told_status(), 124);
  job.says(1, frame_kind::join);
  EXPECT_EQ(job.told_status(), 0);
}

TEST(job_server, values_of_any_bytes_come_back_and_missing_ones_are_refused) {
  conversation job(2);
  for (int i = 0; i < 2; ++i) job.says(i, frame_kind::join);
  const std::string bytes("a\0b\n\xff", 5);
  job.puts(0, bytes, bytes);
  const frame found = job.gets(1, 0, bytes);
  EXPECT_EQ(found.kind, frame_kind::value);
  EXPECT_EQ(found.argument, 5);
  EXPECT_EQ(found.payload, bytes);
  EXPECT_EQ(job.gets(1, 0, "b").kind, frame_kind::refused);
  EXPECT_EQ(job.gets(1, 7, "b").payload, "there is no process 7; the job has 2");
  EXPECT_EQ(job.gets(1, -1, "b").kind, frame_kind::refused);
}

TEST(job_server, keys_of_the_dead_are_refused_with_the_reason) {
  conversation job(2);
  for (int i = 0; i < 2; ++i) job.says(i, frame_kind::join);
  job.puts(0, "a", "b");
  EXPECT_TRUE(job.ends(0, "process 0 was killed", false));
  EXPECT_EQ(job.gets(1, 0, "a").payload, "process 0 was killed");
}

TEST(job_server, keys_do_not_outlive_their_job) {
  conversation job(1);
  job.says(0, frame_kind::join);
  job.puts(0, "a", "b");
  job.says(0, frame_kind::finish);
  job.says(0, frame_kind::join);
  EXPECT_EQ(job.gets(0, 0, "a").kind, frame_kind::refused);
}

TEST(job_server, a_failure_is_told_to_those_that_take_part_and_to_those_that_join_later) {
  conversation job(4);
  for (int i = 0; i < 3; ++i) job.says(i, frame_kind::join);
  job.says(2, frame_kind::finish);
  EXPECT_TRUE(job.ends(1, "why", false));
  EXPECT_EQ(receivers(job.told(), frame_kind::failed), numbers{0});
  const std::vector<frame> late = job.says(3, frame_kind::join);
  ASSERT_EQ(late.size(), 2u);
  EXPECT_EQ(late[0].kind, frame_kind::welcome);
  EXPECT_EQ(late[1].kind, frame_kind::failed);
  EXPECT_EQ(late[1].argument, 1);
  EXPECT_FALSE(job.ends(1, "again", false)) << "told twice";
}

TEST(job_server, who_ends_without_a_word_has_failed_if_others_need_it) {
  conversation nobody_joined(2);
  EXPECT_FALSE(nobody_joined.ends(0, "why", true));
  EXPECT_TRUE(nobody_joined.ends(1, "why", false)) << "a status other than 0";
  conversation one_joined(2);
  one_joined.says(0, frame_kind::join);
  EXPECT_TRUE(one_joined.ends(1, "why", true));
  conversation joined_later(2);
  EXPECT_FALSE(joined_later.ends(1, "why", true));
  EXPECT_TRUE(joined_later.missed().empty());
  EXPECT_EQ(receivers(joined_later.says(0, frame_kind::join), frame_kind::failed), numbers{0});
  EXPECT_EQ(joined_later.missed(), std::vector<std::string>{"why"});
  EXPECT_TRUE(joined_later.missed().empty()) << "told twice";
  conversation all_finished(2);
  for (int i = 0; i < 2; ++i) all_finished.says(i, frame_kind::join);
  all_finished.says(0, frame_kind::finish);
  EXPECT_FALSE(all_finished.ends(0, "why", false));
  EXPECT_TRUE(all_finished.ends(1, "why", true));
}

TEST(job_server, what_no_process_says_is_refused) {
  conversation job(1);
  EXPECT_THROW(job.says(0, frame_kind::fence), error) << "before it joins";
  job.says(0, frame_kind::join);
  EXPECT_THROW(job.says(0, frame_kind::join), error) << "twice";
  EXPECT_THROW(job.says(1, frame_kind::join), error) << "nobody";
  EXPECT_THROW(job.says(0, frame_kind::welcome), error);
  EXPECT_THROW(job.says(0, frame_kind::get, 0, "short"), error);
}

TEST(frames, survive_any_cut_of_the_stream) {
  std::string bytes;
  append_frame(bytes, {.kind = frame_kind::put, .process = 3, .argument = -7, .payload = "hello"});
  append_frame(bytes, {.kind = frame_kind::fence});
  frame_reader frames;
  std::vector<frame> read;
  for (const char c : bytes) {
    frames.append({&c, 1});
    while (auto one = frames.next()) read.push_back(*one);
  }
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].process, 3);
  EXPECT_EQ(read[0].argument, -7);
  EXPECT_EQ(read[0].payload, "hello");
  EXPECT_EQ(read[1].kind, frame_kind::fence);
}

TEST(frames, what_cannot_be_one_is_refused) {
  for (const std::size_t spoilt : {3u, 4u, 6u}) {  // Size, kind, magic.
    std::string bytes;
    append_frame(bytes, {.kind = frame_kind::fence});
    bytes[spoilt] = '\x7f';
    frame_reader frames;
    frames.append(bytes);
    EXPECT_THROW(static_cast<void>(frames.next()), error) << spoilt;
  }
  std::string bytes;
  EXPECT_THROW(append_frame(bytes, {.payload = std::string(frame_bytes_max + 1, 'x')}), error);
}

TEST(frames, a_description_of_a_job_reads_back_and_a_cut_one_is_refused) {
  job_description job = job_of(3);
  job.process = 2;
  const std::string bytes = job.encoded();
  const job_description read = job_description::decoded(bytes);
  EXPECT_EQ(read.id, "abc");
  EXPECT_EQ(read.process, 2);
  EXPECT_EQ(read.hosts, job.hosts);
  EXPECT_EQ(read.host_index, job.host_index);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(job_description::decoded(std::string_view(bytes).substr(0, size)), error) << size;
}

job_shape shape(const std::vector<int>& cpus, void (*set)(options&)) {
  options how;
  set(how);
  std::vector<host_cores> hosts;
  for (const int count : cpus) hosts.push_back({.threads = count});
  return shape_of(how, hosts);
}

TEST(job_shape, without_numbers_each_host_has_a_process_and_each_thread_a_rank) {
  const job_shape both = shape({4, 2}, [](options&) {});
  EXPECT_EQ(both.ranks, 6);
  EXPECT_EQ(both.host_of_process, (numbers{0, 1}));
}

TEST(job_shape, processes_fill_hosts_in_blocks) {
  EXPECT_EQ(shape({2, 2}, [](options& how) { how.processes = 5; }).host_of_process,
            (numbers{0, 0, 0, 1, 1}));
  EXPECT_EQ(shape({2, 2, 2}, [](options& how) { how.ranks = 2; }).host_of_process, (numbers{0, 1}));
}

TEST(job_shape, numbers_that_are_left_out_follow_from_the_others) {
  EXPECT_EQ(shape({8}, [](options& how) { how.processes = 2; }).ranks, 8);
  EXPECT_EQ(shape({1}, [](options& how) { how.processes = 4; }).ranks, 4);
  EXPECT_EQ(shape({8}, [](options& how) { how.processes = 2, how.workers = 3; }).ranks, 6);
  EXPECT_EQ(shape({8}, [](options& how) { how.processes = 2, how.ranks_per_process = 5; }).ranks,
            10);
  EXPECT_EQ(shape({8}, [](options& how) { how.ranks_per_process = 3; }).processes(), 3);
  EXPECT_EQ(shape({8}, [](options& how) { how.ranks = 7, how.ranks_per_process = 3; }).processes(),
            3);
}

TEST(job_shape, every_numa_node_has_a_process) {
  options how;
  how.processes = process_per_numa_node;
  const std::vector<host_cores> hosts{{.threads = 8, .numa_nodes = 3},
                                      {.threads = 2, .numa_nodes = 1}};
  EXPECT_EQ(shape_of(how, hosts).host_of_process, (numbers{0, 0, 0, 1}));
  EXPECT_EQ(shape_of(how, hosts).ranks, 10);
  how.ranks = 3;
  EXPECT_THROW(shape_of(how, hosts), error);
  how.ranks = 4;
  EXPECT_THROW(shape_of(how, {{.threads = 8}, {.threads = 8}}), error);  // Of a batch job.
}

TEST(job_shape, what_cannot_be_is_refused) {
  EXPECT_THROW(shape({1}, [](options& how) { how.ranks = 2, how.processes = 3; }), error);
  EXPECT_THROW(shape({1, 1}, [](options& how) { how.ranks = 2, how.schedule = 1; }), error);
  EXPECT_THROW(shape({1, 1}, [](options& how) { how.ranks = 2, how.transport = "shm"; }), error);
}

struct pipe_of_test {
  descriptor read, write;
};
pipe_of_test make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw error("no pipe");
  return {descriptor(ends[0]), descriptor(ends[1])};
}

// A thread that did not run for long finds that its time is up and what came meanwhile, both at once.
TEST(event_loop, what_has_come_is_taken_before_a_time_that_is_up) {
  event_loop loop;
  const pipe_of_test one = make_pipe();
  std::string order;
  loop.post([&] {
    loop.after(0.02, [&] {
      order += "time ";
      loop.stop();
    });
    ASSERT_EQ(::write(one.write.get(), "x", 1), 1);
    loop.watch(one.read.get(), POLLIN, [&](short) {
      order += "byte ";
      loop.forget(one.read.get());
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  });
  loop.run();
  EXPECT_EQ(order, "byte time ");
}

TEST(event_loop, a_time_that_is_up_is_not_put_off_by_what_comes_all_the_while) {
  event_loop loop;
  const pipe_of_test one = make_pipe();
  ASSERT_EQ(::write(one.write.get(), "x", 1), 1);
  int looks = 0;
  loop.watch(one.read.get(), POLLIN, [&](short) { ASSERT_LT(++looks, 1000); });
  loop.after(0, [&] { loop.stop(); });
  loop.run();
  EXPECT_LE(looks, 2);
}

// Something that the job left behind keeps the pipe open, so only the time ends it.
TEST(output_forwarder, a_thread_that_gets_no_core_for_the_time_of_grace_loses_nothing) {
  std::string lines;
  pipe_of_test one = make_pipe();
  output_forwarder output([&](int, int, std::string_view more) {
    lines += more;
    return true;
  });
  std::promise<void> asked;
  std::promise<void> finished;
  output.pass(0, 1, "begin\n", [&](bool) { asked.get_future().wait(); });
  output.add(0, 1, std::move(one.read));
  ASSERT_EQ(::write(one.write.get(), "row\n", 4), 4);
  output.finish([&] { finished.set_value(); });
  output.pass(0, 1, "", [&](bool) {
    std::this_thread::sleep_for(std::chrono::duration<double>(output_grace_s + 0.1));
  });
  asked.set_value();
  finished.get_future().wait();
  EXPECT_EQ(lines, "begin\nrow\n");
}

// Each step waits for what the one before has brought about, however long that takes.
class passed_lines {
 public:
  bool add(std::string_view more) {
    const std::lock_guard hold(lock_);
    all_ += more;
    changed_.notify_all();
    return true;
  }
  void expect(const std::string& all) {
    std::unique_lock hold(lock_);
    changed_.wait_for(hold, std::chrono::seconds(60), [&] { return all_ == all; });
    EXPECT_EQ(all_, all);
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::string all_;
};

void print(const pipe_of_test& to, std::string_view text) {
  ASSERT_EQ(::write(to.write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(output_forwarder, a_question_is_passed_on_and_lines_of_others_stay_whole) {
  passed_lines passed;
  pipe_of_test one = make_pipe();
  pipe_of_test other = make_pipe();
  output_forwarder output([&](int, int, std::string_view more) { return passed.add(more); },
                          begun_lines::pass);
  output.add(0, 1, std::move(one.read));
  output.add(1, 1, std::move(other.read));
  print(one, "text? ");
  passed.expect("text? ");
  print(one, "right\n");
  passed.expect("text? right\n");
  print(one, "step 1");
  passed.expect("text? right\nstep 1");
  // Its own beginning waits for the end of the one that is seen.
  print(other, "half");
  print(one, " of 2\n");
  passed.expect("text? right\nstep 1 of 2\nhalf");
  print(one, "row\n");
  passed.expect("text? right\nstep 1 of 2\nhalf\nrow\n");
  std::promise<void> finished;
  one.write.reset();
  other.write.reset();
  output.finish([&] { finished.set_value(); });
  finished.get_future().wait();
  passed.expect("text? right\nstep 1 of 2\nhalf\nrow\n");
}

// A full buffer is none that was flushed.
TEST(output_forwarder, the_beginning_of_a_line_waits_where_its_writer_is_in_the_middle_of_it) {
  passed_lines passed;
  pipe_of_test one = make_pipe();
  output_forwarder output([&](int, int, std::string_view more) { return passed.add(more); },
                          begun_lines::pass);
  output.add(0, 1, std::move(one.read));
  std::string full(4096, 'x');
  print(one, full);
  std::promise<void> later;
  std::this_thread::sleep_for(std::chrono::duration<double>(3 * begun_rest_s));
  output.pass(1, 1, "row\n", [&](bool) { later.set_value(); });
  later.get_future().wait();
  passed.expect("row\n");
  print(one, "\n");
  passed.expect("row\n" + full + "\n");
}

}  // namespace
}  // namespace weft

// Started by weftrun with several processes: buffers on an accelerator, at either side of every
// operation, from every process to the next one.
//
// As "cuda" on a GPU by NVIDIA's driver, or what stands in its place: memory that the processor
// cannot reach. As "direct" in memory of the processor's that counts as an accelerator's, whose data
// only libfabric may move: no long one may be copied by weft. Prints one line of process 0 when all
// was right.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm_check.hpp"
#include "weft/accelerator.hpp"
#include "weft/error.hpp"

namespace {

namespace comm = weft::comm;
namespace with = weft::comm::with;
using weft::status;
using weft::tests::text_of;
using weft::tests::until;

// --- Where buffers lie -------------------------------------------------------------------------------

class memory {
 public:
  virtual ~memory() = default;
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* begin) = 0;
  virtual void move(void* to, const void* from, std::size_t bytes) = 0;
};

class processor_memory final : public memory {
 public:
  std::byte* allocate(std::size_t bytes) override { return new std::byte[bytes]; }
  void free(std::byte* begin) override { delete[] begin; }
  void move(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
};

// By the driver's interface, as a program would by cudaMalloc.
class gpu_memory final : public memory {
 public:
  gpu_memory() {
    REQUIRE(library_ != nullptr);
    REQUIRE(call<int>("cuInit", 0u) == 0);
    REQUIRE(call<int>("cuDevicePrimaryCtxRetain", &context_, 0) == 0);
  }
  std::byte* allocate(std::size_t bytes) override {
    const in_context entered(*this);
    std::uint64_t made = 0;
    REQUIRE(call<int>("cuMemAlloc_v2", &made, bytes) == 0);
    return reinterpret_cast<std::byte*>(made);
  }
  // For both, as cudaMallocManaged.
  std::byte* allocate_managed(std::size_t bytes) {
    const in_context entered(*this);
    std::uint64_t made = 0;
    constexpr unsigned for_all = 1;
    REQUIRE(call<int>("cuMemAllocManaged", &made, bytes, for_all) == 0);
    return reinterpret_cast<std::byte*>(made);
  }
  void free(std::byte* begin) override {
    const in_context entered(*this);
    REQUIRE(call<int>("cuMemFree_v2", reinterpret_cast<std::uint64_t>(begin)) == 0);
  }
  void move(void* to, const void* from, std::size_t bytes) override {
    const in_context entered(*this);
    REQUIRE(call<int>("cuMemcpy", reinterpret_cast<std::uint64_t>(to),
                      reinterpret_cast<std::uint64_t>(from), bytes) == 0);
    REQUIRE(call<int>("cuStreamSynchronize", static_cast<void*>(nullptr)) == 0);
  }

 private:
  struct in_context {
    explicit in_context(gpu_memory& of) : of_(of) {
      REQUIRE(of_.call<int>("cuCtxPushCurrent_v2", of_.context_) == 0);
    }
    ~in_context() {
      void* popped = nullptr;
      REQUIRE(of_.call<int>("cuCtxPopCurrent_v2", &popped) == 0);
    }
    gpu_memory& of_;
  };
  template <class Result, class... Arguments>
  Result call(const char* function, Arguments... arguments) {
    auto* const found = reinterpret_cast<Result (*)(Arguments...)>(::dlsym(library_, function));
    REQUIRE(found != nullptr);
    return found(arguments...);
  }

  void* const library_ = ::dlopen("libcuda.so.1", RTLD_NOW);
  void* context_ = nullptr;
};

// Memory of the processor's that counts as an accelerator's which libfabric knows.
class arena final : public memory {
 public:
  std::byte* allocate(std::size_t bytes) override {
    const std::size_t begin = std::exchange(used_, used_ + (bytes + 63) / 64 * 64);
    REQUIRE(used_ <= bytes_.size());
    return bytes_.data() + begin;
  }
  void free(std::byte*) override {}
  void move(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  [[nodiscard]] bool has(const void* address) const noexcept {
    const auto* const at = static_cast<const std::byte*>(address);
    return at >= bytes_.data() && at < bytes_.data() + bytes_.size();
  }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(96 << 20);
  std::size_t used_ = 0;
};
class arena_accelerator final : public weft::accelerator {
 public:
  explicit arena_accelerator(const arena& of) : of_(of) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "arena"; }
  [[nodiscard]] bool owns(const void* address) const noexcept override { return of_.has(address); }
  [[nodiscard]] bool copy(void* to, const void* from, std::size_t bytes) noexcept override {
    copied_ = std::max(copied_, bytes);
    std::memcpy(to, from, bytes);
    return true;
  }
  [[nodiscard]] fabric_name named_by_fabric(const void*) const noexcept override {
    return {0, 0};  // FI_HMEM_SYSTEM
  }
  [[nodiscard]] std::size_t longest_copy() const noexcept { return copied_; }

 private:
  const arena& of_;
  std::size_t copied_ = 0;
};

class buffer {
 public:
  buffer(memory& where, std::size_t size)
      : where_(where), size_(size), begin_(where.allocate(size)) {
    write(std::string(size, '?'));
  }
  buffer(memory& where, const std::string& text) : buffer(where, text.size()) { write(text); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { where_.free(begin_); }

  void write(const std::string& text) { where_.move(begin_, text.data(), text.size()); }
  [[nodiscard]] std::string text(std::size_t from, std::size_t size) const {
    std::string copy(size, ' ');
    where_.move(copy.data(), begin_ + from, size);
    return copy;
  }
  [[nodiscard]] std::string text() const { return text(0, size_); }
  [[nodiscard]] std::span<std::byte> bytes() const { return {begin_, size_}; }

 private:
  memory& where_;
  std::size_t size_;
  std::byte* begin_;
};

// --- The tests ---------------------------------------------------------------------------------------

struct arrival {
  comm::event event;
  std::string text;
};
class arrivals {
 public:
  void signal(const comm::event& happened) noexcept {
    const bool is_message = happened.kind == comm::operation_kind::am;
    waiting_.push_back(
        {happened, is_message ? std::string(reinterpret_cast<const char*>(happened.bytes().data()),
                                            happened.size)
                              : std::string()});
  }
  [[nodiscard]] arrival next(const comm::runtime& core) {
    until(core, [&] { return !waiting_.empty(); });
    arrival first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

 private:
  std::deque<arrival> waiting_;
};

constexpr std::size_t memory_bytes = 4 << 20;

class exchange {
 public:
  // The accelerator's memory, or the processor's: where each side has its data.
  exchange(comm::runtime& core, memory& gpu)
      : core_(core),
        on_(core.device()),
        team_(on_),
        next_((core.process() + 1) % core.process_count()),
        before_((core.process() + core.process_count() - 1) % core.process_count()),
        arrived_(core.register_handler(came_)),
        gpu_(gpu),
        places_{&gpu, &processor_},
        far_(gpu, memory_bytes),
        near_(processor_, memory_bytes),
        exposed_{comm::registered_memory(on_, far_.bytes()),
                 comm::registered_memory(on_, near_.bytes())},
        everywhere_(2 * static_cast<std::size_t>(core.process_count())) {
    const std::array mine{exposed_[0].remote(), exposed_[1].remote()};
    end(team_.all_gather(std::as_bytes(std::span(mine)), weft::tests::bytes_of(everywhere_)));
  }

  // All that moves data, of this length.
  void everything(std::size_t size) {
    const std::string text = text_of(size, size);
    for (memory* const from : places_) {
      const buffer out(*from, text);
      complete([&](const comm::completion& ended) {
        return post_am(on_, {next_}, arrived_, out.bytes(), with::local(ended), with::done(false));
      });
      REQUIRE(came_.next(core_).text == text);
      for (memory* const to : places_) sent_to(*to, out, text);
      for (const std::size_t where : {0u, 1u}) put_and_got(where, out, *from, text);
    }
    in_place(text);
    parts(text);
    meet();
  }

  // What cannot be done is refused, and nobody is left waiting.
  void refusals() {
    const buffer out(gpu_, text_of(5000, 1)), in(gpu_, 200);
    comm::synchronizer received;
    comm::event got;
    const status said = post_recv(on_, before_, in.bytes(), with::tag(3), with::local(received),
                                  with::result(&got));
    complete([&](const comm::completion& ended) {
      return post_send(on_, {next_}, out.bytes(), with::tag(3), with::local(ended),
                       with::done(false));
    });
    if (said == status::posted) {
      until(core_, [&] { return received.test(); });
      got = received.events()[0];
    }
    REQUIRE(got.result == comm::outcome::truncated && got.size == 5000);
    REQUIRE(in.text() == std::string(200, '?'));

    comm::counter ended;
    until(core_, [&] {
      return post_fetch_add(on_, at(next_, 0), 1, with::local(ended)) == status::posted;
    });
    until(core_, [&] { return ended.value() == 1; });
    REQUIRE(ended.failures() == 1);
    meet();

    const comm::combination sum{1, [](void*, const void*, std::size_t) noexcept {}};
    if (core_.process_count() > 1) {
      std::string why;
      try {
        end(team_.all_reduce(in.bytes(), sum));
      } catch (const weft::error& error) {
        why = error.what();
      }
      REQUIRE(why.find("accelerator") != std::string::npos);
    }
    meet();
  }

  void collectives(std::size_t size) {
    const auto count = static_cast<std::size_t>(core_.process_count());
    const auto me = static_cast<std::uint64_t>(core_.process());
    const buffer one(gpu_, text_of(size, me)), all(gpu_, count * size);
    end(team_.all_gather(one.bytes(), all.bytes()));
    for (std::size_t p = 0; p < count; ++p) REQUIRE(all.text(p * size, size) == text_of(size, p));
    const buffer turned(gpu_, count * size);
    end(team_.all_to_all(all.bytes(), turned.bytes()));
    for (std::size_t p = 0; p < count; ++p)
      REQUIRE(turned.text(p * size, size) == text_of(size, me));
    end(team_.broadcast(one.bytes(), 0));
    REQUIRE(one.text() == text_of(size, 0));
  }

  void meet() { weft::tests::meet(core_, team_); }

 private:
  void sent_to(memory& to, const buffer& out, const std::string& text) {
    const buffer in(to, text.size());
    comm::counter received;
    comm::event result;
    const status said = post_recv(on_, before_, in.bytes(), with::tag(8), with::local(received),
                                  with::result(&result));
    complete([&](const comm::completion& ended) {
      return post_send(on_, {next_}, out.bytes(), with::tag(8), with::local(ended),
                       with::done(false));
    });
    if (said == status::posted) until(core_, [&] { return received.value() == 1; });
    REQUIRE(said != status::failed && received.failures() == 0);
    REQUIRE(in.text() == text);
    // Also when the message is there first.
    complete([&](const comm::completion& ended) {
      return post_send(on_, {next_}, std::span(out.bytes()).first(5), with::tag(9),
                       with::local(ended), with::done(false));
    });
    meet();
    complete([&](const comm::completion& ended) {
      return post_recv(on_, before_, in.bytes().last(5), with::tag(9), with::local(ended),
                       with::done(false));
    });
    REQUIRE(in.text(text.size() - 5, 5) == text.substr(0, 5));
  }

  // `where`: 0 the accelerator, 1 the processor, at the other side.
  void put_and_got(std::size_t where, const buffer& out, memory& from, const std::string& text) {
    meet();
    complete([&](const comm::completion& ended) {
      return post_put(on_, at(next_, where), out.bytes(), with::offset(13), with::notify(arrived_),
                      with::tag(text.size()), with::local(ended), with::done(false));
    });
    const arrival told = came_.next(core_);
    REQUIRE(told.event.size == text.size() && told.event.tag == text.size());
    const buffer& here = where == 0 ? far_ : near_;
    REQUIRE(told.event.data == here.bytes().data() + 13);
    REQUIRE(here.text(13, text.size()) == text);
    meet();
    const buffer in(from, text.size());
    complete([&](const comm::completion& ended) {
      return post_get(on_, at(next_, where), in.bytes(), with::offset(13), with::local(ended),
                      with::done(false));
    });
    REQUIRE(in.text() == text);
    // And of one's own memory.
    meet();
    complete([&](const comm::completion& ended) {
      return post_put(on_, at(core_.process(), where), out.bytes().first(5), with::offset(1),
                      with::local(ended), with::done(false));
    });
    REQUIRE(here.text(1, 5) == text.substr(0, 5));
    complete([&](const comm::completion& ended) {
      return post_get(on_, at(core_.process(), where), in.bytes().last(5), with::offset(1),
                      with::local(ended), with::done(false));
    });
    REQUIRE(in.text(text.size() - 5, 5) == text.substr(0, 5));
  }

  void in_place(const std::string& text) {
    const buffer out(gpu_, text);
    comm::synchronizer received;
    comm::event got;
    const status said = post_recv(on_, before_, {}, with::tag(2), with::in_place(true),
                                  with::local(received), with::result(&got));
    complete([&](const comm::completion& ended) {
      return post_send(on_, {next_}, out.bytes(), with::tag(2), with::local(ended),
                       with::done(false));
    });
    if (said == status::posted) {
      until(core_, [&] { return received.test(); });
      got = received.events()[0];
    }
    REQUIRE(std::string(reinterpret_cast<const char*>(got.bytes().data()), got.size) == text);
    release(got);
  }

  // Some here and some there, cut in other places at each side.
  void parts(const std::string& text) {
    const std::size_t cut = text.size() / 3;
    const buffer first(gpu_, text.substr(0, cut)), second(processor_, text.substr(cut));
    const buffer one(processor_, 2 * cut), other(gpu_, text.size() - 2 * cut);
    const std::array<std::span<const std::byte>, 2> out{first.bytes(), second.bytes()};
    const std::array<std::span<std::byte>, 2> in{one.bytes(), other.bytes()};
    comm::counter received;
    comm::event result;
    const status said =
        post_recv(on_, before_, in, with::tag(4), with::local(received), with::result(&result));
    complete([&](const comm::completion& ended) {
      return post_send(on_, {next_}, out, with::tag(4), with::local(ended), with::done(false));
    });
    if (said == status::posted) until(core_, [&] { return received.value() == 1; });
    REQUIRE(one.text() + other.text() == text);
  }

  template <class Post>
  void complete(const Post& post) {
    weft::tests::complete(core_, post);
  }
  void end(comm::collective of) {
    until(core_, [&] { return of.test(); });
    REQUIRE(of.wait() == comm::outcome::complete);
  }
  [[nodiscard]] const comm::remote_memory& at(int process, std::size_t where) const {
    return everywhere_[2 * static_cast<std::size_t>(process) + where];
  }

  comm::runtime& core_;
  comm::device& on_;
  comm::team team_;
  const int next_, before_;
  arrivals came_;
  const comm::handler_id arrived_;
  processor_memory processor_;
  memory& gpu_;
  const std::array<memory*, 2> places_;
  const buffer far_, near_;
  const std::array<comm::registered_memory, 2> exposed_;
  std::vector<comm::remote_memory> everywhere_;
};

void with_gpu(comm::rendezvous_protocol how) {
  gpu_memory gpu;
  const auto cuda = weft::make_cuda_accelerator();
  const buffer there(gpu, 100);
  std::byte* const anywhere = gpu.allocate_managed(100);
  REQUIRE(cuda->owns(there.bytes().data() + 99) && !cuda->owns(anywhere) && !cuda->owns(&gpu));
  gpu.free(anywhere);
  comm::runtime core({.rendezvous = how, .accelerator = cuda.get()});
  exchange all(core, gpu);
  for (const std::size_t size : {5u, 1000u, 6000u, 40'000u, 100'000u, 3'000'000u})
    all.everything(size);
  all.refusals();
  for (const std::size_t size : {100u, 300'000u}) all.collectives(size);
  all.meet();
}

void with_fabric(comm::rendezvous_protocol how) {
  constexpr std::size_t eager_bytes = 4096;
  arena there;
  arena_accelerator accelerator(there);
  comm::runtime core({.eager_bytes = eager_bytes, .rendezvous = how, .accelerator = &accelerator});
  exchange all(core, there);
  for (const std::size_t size : {100u, 100'000u, 3'000'000u}) all.everything(size);
  all.refusals();
  all.meet();
  REQUIRE(accelerator.longest_copy() > 0);
  // What one sends to oneself no network moves.
  if (core.process_count() > 1) REQUIRE(accelerator.longest_copy() <= eager_bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "cuda";
  using comm::rendezvous_protocol;
  for (const auto how :
       {rendezvous_protocol::best, rendezvous_protocol::write, rendezvous_protocol::messages}) {
    if (mode == "cuda")
      with_gpu(how);
    else if (how != rendezvous_protocol::messages)
      with_fabric(how);
  }
  comm::runtime core;
  if (core.process() == 0)
    std::printf("%d processes over %s: all right\n", core.process_count(),
                weft::tests::transport_of(core).c_str());
}

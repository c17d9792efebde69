#include "bootstrap/local/frame.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

constexpr std::uint16_t frame_magic = 0x7765;
constexpr std::size_t read_bytes = 64 * 1024;

}  // namespace

void append_frame(std::string& to, const frame& what) {
  if (what.payload.size() > frame_bytes_max)
    throw error(formatted("{} bytes are too many for one message to weftrun: the limit is {}",
                          what.payload.size(), frame_bytes_max));
  const frame_header header{.size = static_cast<std::uint32_t>(what.payload.size()),
                            .kind = what.kind,
                            .magic = frame_magic,
                            .process = static_cast<std::uint32_t>(what.process),
                            .argument = what.argument};
  to.append(reinterpret_cast<const char*>(&header), sizeof header).append(what.payload);
}

bool frame_reader::read_from(int descriptor) {
  // What has been used is dropped when it is the larger part, so each byte moves once at most.
  if (used_ > bytes_.size() / 2) {
    bytes_.erase(0, used_);
    used_ = 0;
  }
  const std::size_t before = bytes_.size();
  bytes_.resize(before + read_bytes);
  const ssize_t size = ::read(descriptor, bytes_.data() + before, read_bytes);
  const int reason = errno;
  bytes_.resize(before + static_cast<std::size_t>(size > 0 ? size : 0));
  return size > 0 || (size < 0 && (reason == EAGAIN || reason == EINTR));
}

std::optional<frame> frame_reader::next() {
  const std::string_view left = std::string_view(bytes_).substr(used_);
  frame_header header;
  if (left.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, left.data(), sizeof header);
  if (header.magic != frame_magic || header.kind < frame_kind::join ||
      header.kind > frame_kind::beat || header.size > frame_bytes_max)
    throw error("what came from the other side is no message of weftrun");
  if (left.size() - sizeof header < header.size) return std::nullopt;
  used_ += sizeof header + header.size;
  return frame{.kind = header.kind,
               .process = static_cast<int>(header.process),
               .argument = header.argument,
               .payload = std::string(left.substr(sizeof header, header.size))};
}

bool write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd room{descriptor, POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

field_writer& field_writer::number(std::int64_t value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

field_writer& field_writer::text(std::string_view value) {
  number(static_cast<std::int64_t>(value.size()));
  bytes_.append(value);
  return *this;
}

std::string_view field_reader::take(std::size_t size) {
  if (size > bytes_.size()) throw error("a message of weftrun ends too early");
  const std::string_view result = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return result;
}

std::int64_t field_reader::number() {
  std::int64_t value;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string_view field_reader::text() {
  const std::int64_t size = number();
  if (size < 0) throw error("a message of weftrun has a text of negative length");
  return take(static_cast<std::size_t>(size));
}

std::string job_description::encoded() const {
  field_writer fields;
  fields.text(id).number(process).number(line_buffered);
  fields.number(static_cast<std::int64_t>(hosts.size()));
  for (const std::string& host : hosts) fields.text(host);
  fields.number(static_cast<std::int64_t>(host_index.size()));
  for (const int index : host_index) fields.number(index);
  fields.number(static_cast<std::int64_t>(parts.size()));
  for (const job_part& part : parts) fields.number(part.ranks).number(part.processes);
  return fields.take();
}

job_description job_description::decoded(std::string_view bytes) {
  field_reader fields(bytes);
  job_description job;
  job.id = fields.text();
  job.process = static_cast<int>(fields.number());
  job.line_buffered = fields.number() != 0;
  for (std::int64_t left = fields.number(); left > 0; --left) job.hosts.emplace_back(fields.text());
  for (std::int64_t left = fields.number(); left > 0; --left) {
    const auto index = static_cast<std::size_t>(fields.number());
    if (index >= job.hosts.size())
      throw error("a message of weftrun names a host that is not there");
    job.host_index.push_back(static_cast<int>(index));
  }
  if (job.process < 0 || static_cast<std::size_t>(job.process) >= job.host_index.size())
    throw error("a message of weftrun names a process that is not there");
  std::int64_t processes = 0;
  std::int64_t ranks = 0;
  for (std::int64_t left = fields.number(); left > 0; --left) {
    const std::int64_t its_ranks = fields.number();
    const std::int64_t its_processes = fields.number();
    if (its_processes < 1 || its_ranks < its_processes || its_ranks > ranks_max - ranks)
      throw error("a message of weftrun names a program that cannot be");
    ranks += its_ranks;
    processes += its_processes;
    job.parts.push_back({static_cast<int>(its_ranks), static_cast<int>(its_processes)});
  }
  if (!job.parts.empty() && processes != static_cast<std::int64_t>(job.host_index.size()))
    throw error("a message of weftrun counts its processes in two ways");
  return job;
}

}  // namespace weft

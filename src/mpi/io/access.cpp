#include "mpi/io/access.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collective/collectives.hpp"
#include "mpi/datatype/data.hpp"
#include "mpi/datatype/datatype_builder.hpp"
#include "mpi/datatype/external.hpp"
#include "mpi/object/request.hpp"
#include "rank/segment_copy.hpp"

namespace weft::mpi {

using detail::segments;

namespace {

// Pieces that are put together before the file system is called.
constexpr std::size_t pieces_at_once = 8192;
// Reads of more, gaps included, have a thread of their own although the bytes are in memory: other ranks run meanwhile.
constexpr std::uint64_t cached_read_bytes_max = std::uint64_t{4} << 20;
constexpr std::size_t cached_read_pieces_max = 512;

segments layout_of_data(const void* buffer, MPI_Count count, const datatype_object& type) {
  return with_data(buffer, count, type, [](const auto& data) { return segments(data); });
}

bool is_ascending(const std::vector<file_piece>& pieces) noexcept {
  return std::ranges::is_sorted(pieces, {}, &file_piece::offset);
}
void sort_pieces(std::vector<file_piece>& pieces) {
  if (!is_ascending(pieces)) std::ranges::stable_sort(pieces, {}, &file_piece::offset);
}
// Of pieces that ascend: from the first to the end of the last.
std::uint64_t span_of(const std::vector<file_piece>& pieces) noexcept {
  return pieces.back().end() - pieces.front().offset;
}

}  // namespace

file_access::file_access(state& me, file_state& f, file_direction way, const void* buffer,
                         MPI_Count count, const datatype_object& type)
    : me_(me),
      way_(way),
      view_(f.view),
      representation_(f.representation),
      memory_(layout_of_data(buffer, count, type)) {
  if (writes() && (f.amode & MPI_MODE_RDONLY) != 0)
    fail(MPI_ERR_READ_ONLY,
         "file \"{}\" is open for reading only: open it with MPI_MODE_WRONLY or MPI_MODE_RDWR",
         printable(f.name));
  if (!writes() && (f.amode & MPI_MODE_WRONLY) != 0)
    fail(MPI_ERR_ACCESS,
         "file \"{}\" is open for writing only: open it with MPI_MODE_RDONLY or MPI_MODE_RDWR",
         printable(f.name));
  if (representation_->what != file_representation::type::native) {
    programs_ = memory_;
    count_ = static_cast<std::size_t>(count);
    const std::uint64_t element = bytes_in_file(*representation_, type);
    const std::uint64_t bytes = element * count_;
    converted_ = std::make_unique<std::byte[]>(std::max(bytes, std::uint64_t{1}));
    memory_ = segments({converted_.get(), static_cast<std::size_t>(bytes)});
    type_ = &type;
    if (writes()) convert_out();
  }
  if (bytes() % view_->element_bytes() != 0)
    fail(
        MPI_ERR_TYPE,
        "{} bytes are no whole number of etypes of {} bytes: read and write elements of the view's "
        "etype",
        bytes(), view_->element_bytes());
  if (type_ != nullptr) hold(const_cast<datatype_object&>(type));
}

file_access::~file_access() {
  if (type_ != nullptr) release(me_, const_cast<datatype_object&>(*type_));
}

void file_access::set_position(std::uint64_t position) {
  if (__builtin_mul_overflow(position, view_->element_bytes(), &data_) || data_ + bytes() < data_)
    fail(MPI_ERR_ARG, "offset {} in etypes of {} bytes is too large", position,
         view_->element_bytes());
  if (bytes() != 0)
    (void)access_walk(*view_, data_, memory_);  // Throws where there is no such place.
}

// --- Representations -----------------------------------------------------------------------------------------------------

void file_access::convert_out() {
  const std::size_t packed_bytes = programs_.size();
  if (packed_bytes == 0) return;
  const auto packed = std::make_unique<std::byte[]>(packed_bytes);
  detail::copy_out(packed.get(), programs_);
  if (representation_->what == file_representation::type::external32)
    return to_external32(converted_.get(), packed.get(), *type_, count_);
  const registered_representation& r = representation_->functions;
  const datatype_object& basic = only_basic(*type_);
  const auto elements = static_cast<MPI_Count>(packed_bytes / basic.size);
  const MPI_Datatype handle = predefined_handle(basic);
  int code = MPI_SUCCESS;
  if (r.large_write != nullptr)
    code = r.large_write(packed.get(), handle, elements, converted_.get(), 0, r.extra_state);
  else if (r.write != nullptr)
    code = r.write(packed.get(), handle, static_cast<int>(elements), converted_.get(), 0,
                   r.extra_state);
  else
    std::memcpy(converted_.get(), packed.get(), std::min(packed_bytes, memory_.size()));
  if (code != MPI_SUCCESS)
    fail(MPI_ERR_CONVERSION, "the write function of data representation \"{}\" returned {}",
         printable(representation_->name), code);
}

void file_access::give_back(std::uint64_t moved, std::uint64_t& told) {
  const std::size_t packed_bytes = programs_.size();
  if (packed_bytes == 0 || memory_.size() == 0) return;
  const auto packed = std::make_unique<std::byte[]>(packed_bytes);
  // Whole elements alone, where an element has another size there.
  const std::uint64_t here = packed_bytes / count_;
  const std::uint64_t there = memory_.size() / count_;
  told = here == there ? moved : moved / there * here;
  if (representation_->what == file_representation::type::external32) {
    from_external32(packed.get(), converted_.get(), *type_, count_);
  } else {
    const registered_representation& r = representation_->functions;
    const datatype_object& basic = only_basic(*type_);
    const auto elements = static_cast<MPI_Count>(told / basic.size);
    const MPI_Datatype handle = predefined_handle(basic);
    int code = MPI_SUCCESS;
    if (r.large_read != nullptr)
      code = r.large_read(packed.get(), handle, elements, converted_.get(), 0, r.extra_state);
    else if (r.read != nullptr)
      code = r.read(packed.get(), handle, static_cast<int>(elements), converted_.get(), 0,
                    r.extra_state);
    else
      std::memcpy(packed.get(), converted_.get(), std::min(packed_bytes, memory_.size()));
    if (code != MPI_SUCCESS)
      fail(MPI_ERR_CONVERSION, "the read function of data representation \"{}\" returned {}",
           printable(representation_->name), code);
  }
  if (told != 0)
    detail::copy_segments(programs_, segments({packed.get(), packed_bytes}), 0,
                          static_cast<std::size_t>(told));
}

std::uint64_t file_access::conclude(std::uint64_t moved) {
  std::uint64_t told = moved;
  if (converted_ == nullptr) return told;
  if (writes())
    told = programs_.size();
  else
    give_back(moved, told);
  return told;
}

// --- Alone ------------------------------------------------------------------------------------------------------------------

std::vector<file_piece> file_access::pieces() const {
  std::vector<file_piece> all;
  access_walk walk(*view_, data_, memory_);
  while (const auto piece = walk.next()) all.push_back(*piece);
  sort_pieces(all);
  return all;
}

std::uint64_t file_access::bytes_before(std::uint64_t offset) const {
  if (offset == file_outcome::no_end) return bytes();
  std::uint64_t count = 0;
  access_walk walk(*view_, data_, memory_);
  while (const auto piece = walk.next())
    if (piece->offset < offset)
      count += std::min<std::uint64_t>(piece->bytes, offset - piece->offset);
  return count;
}

bool file_access::read_cached(open_file& in, bool atomic, file_outcome& outcome) noexcept {
  if (writes() || atomic || bytes() > cached_read_bytes_max) return false;
  outcome = carry_out(in, false, true);
  // Also where the file system cannot say it. Another error is told by the call that waits, and so is an end of the file:
  // Linux 5.9 and 5.10 may take bytes that are not in memory for one (preadv2(2), BUGS).
  return outcome.is_good() && outcome.end_of_file == file_outcome::no_end;
}

file_outcome file_access::carry_out(open_file& in, bool atomic, bool only_cached) noexcept {
  if (bytes() == 0) return {};
  try {
    std::optional<open_file::range_lock> alone;
    if (atomic) {
      alone.emplace(in, view_->offset_of(data_), view_->offset_of(data_ + bytes() - 1) + 1,
                    writes());
      if (!alone->outcome().is_good()) return alone->outcome();
    }
    file_outcome outcome;
    access_walk walk(*view_, data_, memory_);
    std::vector<file_piece> some;
    const std::size_t count_max = only_cached ? cached_read_pieces_max : pieces_at_once;
    for (bool more = true; more && outcome.is_good();) {
      some.clear();
      while (some.size() < count_max) {
        const auto piece = walk.next();
        more = piece.has_value();
        if (!more) break;
        some.push_back(*piece);
      }
      if (some.empty()) break;
      sort_pieces(some);
      if (only_cached && (more || span_of(some) > cached_read_bytes_max))
        return {.error = EAGAIN, .action = "reading", .at = some.front().offset};
      outcome.add(writes() ? in.write(some) : in.read(some, only_cached));
    }
    return outcome;
  } catch (...) {
    return {.error = ENOMEM, .action = "preparing an access", .at = 0};
  }
}

std::uint64_t access_alone(state& me, file_state& f, file_access& access, const char* call) {
  file_outcome outcome;
  if (!me.rank.home->has_others() || !access.read_cached(*f.file, f.atomic, outcome))
    run_blocking(me, purpose_of(f, call), [&] { outcome = access.carry_out(*f.file, f.atomic); });
  check_outcome(f, outcome);
  const std::uint64_t moved = outcome.end_of_file == file_outcome::no_end
                                  ? access.bytes()
                                  : access.bytes_before(outcome.end_of_file);
  // A rank that looks in a loop for what another one writes, or reads all of a long file, may have waited for nothing: the
  // others run, mail and the end of the job are seen.
  me.rank.home->yield();
  me.rank.home->check_stopped();
  return access.conclude(moved);
}

MPI_Request begin_alone(state& me, const std::shared_ptr<file_state>& f,
                        std::shared_ptr<file_access> access, const char* call) {
  struct under_way {
    file_outcome outcome;
    std::shared_ptr<blocking_operation> begun;
  };
  const auto way = std::make_shared<under_way>();
  const auto moved = std::make_shared<std::uint64_t>(0);
  const auto work = [way, access, file = f->file, atomic = f->atomic] {
    way->outcome = access->carry_out(*file, atomic);
  };
  // It begins now, whenever the rank waits for it.
  way->begun = begin_blocking(me, purpose_of(*f, call), work);
  if (way->begun == nullptr) work();
  const MPI_Request made =
      add_request(me, handle_of(*f->group),
                  detail::start_activity(
                      f->ranks().shared_state(),
                      [&me, f, way, access = std::move(access), moved, call] {
                        const auto begun = std::move(way->begun);
                        if (begun != nullptr) await_blocking(me, purpose_of(*f, call), *begun);
                        try {
                          check_outcome(*f, way->outcome);
                          *moved = access->conclude(access->bytes_before(way->outcome.end_of_file));
                        } catch (const failure& why) {
                          throw failure(why.code(), why.what(), MPI_COMM_NULL, f->handle);
                        }
                      }),
                  call);
  if (auto* const r = find_object<request_object>(made); r != nullptr && r->details != nullptr)
    r->details->moved_bytes = moved;
  return made;
}

}  // namespace weft::mpi

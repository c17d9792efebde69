// A rank's number in its environment, before it asks anybody, under the names that programs read.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {
struct job_rank;
}

namespace weft::process {

// The variables that a rank finds, in weft's own words and in those of the launchers of Open MPI, MPICH and Intel MPI.
enum class rank_variable_value { number, size, local_number, local_size };
struct rank_variable {
  std::string_view name;
  rank_variable_value value;
};
inline constexpr std::array<rank_variable, 10> rank_variables{{
    {"WEFT_RANK", rank_variable_value::number},
    {"WEFT_LOCAL_RANK", rank_variable_value::local_number},
    {"OMPI_COMM_WORLD_RANK", rank_variable_value::number},
    {"OMPI_COMM_WORLD_SIZE", rank_variable_value::size},
    {"OMPI_COMM_WORLD_LOCAL_RANK", rank_variable_value::local_number},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", rank_variable_value::local_size},
    {"PMI_RANK", rank_variable_value::number},
    {"PMI_SIZE", rank_variable_value::size},
    {"MPI_LOCALRANKID", rank_variable_value::local_number},
    {"MPI_LOCALNRANKS", rank_variable_value::local_size},
}};

// What they say of one rank.
struct rank_values {
  int number;
  int size;
  int local_number;
  int local_size;
  [[nodiscard]] int of(rank_variable_value which) const noexcept;
};
// NAME=value of each: for the process of a rank that another program than weft's runs in first, such as a script.
[[nodiscard]] std::vector<std::string> variables_of_rank(const rank_values& values);

// The environment of a rank: that of its process, whose table is `given`, and the rank's variables. What it returns is
// never freed: the rank's threads and what it leaves behind may read it. Where the messages go over another MPI, which reads
// the same names, it is `given` itself. Called by the rank, before its program's constructors.
[[nodiscard]] char** environment_of_rank(const detail::job_rank& me, char** given);

// How many entries without_rank_variables() writes at most, for a table of a process that may have ranks; 0: none of this
// process's ranks has variables of its own, and the table is to be used as it is.
[[nodiscard]] std::size_t entries_without_rank_variables(char* const* table) noexcept;

// What a program sees that a rank starts: `table` without the rank's own variables, and with those again that the
// process was given under these names. One that the program has set to something else stays. Allocates nothing and takes
// no lock: it runs between vfork() and the start of the program, too.
void without_rank_variables(char* const* table, char** to) noexcept;

}  // namespace weft::process

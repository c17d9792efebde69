/* getopt() and its kin with a state of each rank: POSIX with the GNU extensions (options after
   arguments, long options, their unambiguous abbreviations). */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/life/program_replaces.h"

LINKED_AS(getopt);

REPLACES char* optarg;
REPLACES int optind = 1;
REPLACES int opterr = 1;
REPLACES int optopt = '?';

static char* next;      /* The next one of a word of several short options. */
static int first_word;  /* Arguments that were stepped over: argv[first_word, last_word). */
static int last_word;

enum order { permute, stop_at_argument, arguments_are_options };

static void reverse(char** words, int count) {
  for (int i = 0; i < count / 2; ++i) {
    char* const word = words[i];
    words[i] = words[count - 1 - i];
    words[count - 1 - i] = word;
  }
}

/* Moves the options that lie behind the stepped-over arguments before them. */
static void settle(char** argv) {
  if (first_word != last_word && last_word != optind) {
    reverse(argv + first_word, last_word - first_word);
    reverse(argv + last_word, optind - last_word);
    reverse(argv + first_word, optind - first_word);
    first_word += optind - last_word;
  } else if (last_word != optind) {
    first_word = optind;
  }
  last_word = optind;
}

static int is_option(const char* word) { return word[0] == '-' && word[1] != '\0'; }

/* The index of the long option that `name` of this length means; -1: none, -2: several. */
static int find_long(const struct option* options, const char* name, size_t length) {
  int found = -1;
  for (int i = 0; options[i].name != NULL; ++i) {
    if (strncmp(options[i].name, name, length) != 0) continue;
    if (options[i].name[length] == '\0') return i;
    if (found == -1)
      found = i;
    else if (options[found].has_arg != options[i].has_arg ||
             options[found].flag != options[i].flag || options[found].val != options[i].val)
      found = -2;
  }
  return found;
}

/* argv[optind] is a long option, whose name begins at `name`. */
static int take_long(int argc, char** argv, const char* dashes, const char* name,
                     const struct option* options, int* index, int tell, int missing) {
  const size_t length = strcspn(name, "=");
  const int found = find_long(options, name, length);
  ++optind;
  next = NULL;
  if (found < 0) {
    if (tell)
      fprintf(stderr, found == -2 ? "%s: option '%s%s' is ambiguous\n"
                                  : "%s: unrecognized option '%s%s'\n",
              argv[0], dashes, name);
    optopt = 0;
    return '?';
  }
  const struct option* const one = &options[found];
  if (index != NULL) *index = found;
  optarg = NULL;
  if (name[length] == '=') {
    if (one->has_arg == no_argument) {
      if (tell)
        fprintf(stderr, "%s: option '%s%s' doesn't allow an argument\n", argv[0], dashes,
                one->name);
      optopt = one->val;
      return '?';
    }
    optarg = (char*)name + length + 1;
  } else if (one->has_arg == required_argument) {
    if (optind >= argc) {
      if (tell)
        fprintf(stderr, "%s: option '%s%s' requires an argument\n", argv[0], dashes, one->name);
      optopt = one->val;
      return missing;
    }
    optarg = argv[optind++];
  }
  if (one->flag == NULL) return one->val;
  *one->flag = one->val;
  return 0;
}

static int take_short(int argc, char** argv, const char* allowed, int tell, int missing) {
  const char letter = *next++;
  const char* const known = letter == ':' || letter == ';' ? NULL : strchr(allowed, letter);
  if (*next == '\0') ++optind;
  if (known == NULL) {
    if (tell) fprintf(stderr, "%s: invalid option -- '%c'\n", argv[0], letter);
    optopt = letter;
    if (*next == '\0') next = NULL;
    return '?';
  }
  if (known[1] != ':') {
    if (*next == '\0') next = NULL;
    return letter;
  }
  optarg = NULL;
  if (*next != '\0') {
    optarg = next;
    ++optind;
  } else if (known[2] != ':') {
    if (optind >= argc) {
      if (tell) fprintf(stderr, "%s: option requires an argument -- '%c'\n", argv[0], letter);
      optopt = letter;
      next = NULL;
      return missing;
    }
    optarg = argv[optind++];
  }
  next = NULL;
  return letter;
}

static int take(int argc, char** argv, const char* allowed, const struct option* options,
                int* index, int one_dash_is_long) {
  if (argc < 1) return -1;
  enum order order = getenv("POSIXLY_CORRECT") != NULL ? stop_at_argument : permute;
  if (*allowed == '-') order = arguments_are_options;
  if (*allowed == '+') order = stop_at_argument;
  if (*allowed == '-' || *allowed == '+') ++allowed;
  const int missing = *allowed == ':' ? ':' : '?';
  const int tell = opterr != 0 && *allowed != ':';
  optarg = NULL;
  if (optind == 0) {  /* Begin again. */
    optind = 1;
    next = NULL;
    first_word = last_word = 1;
  }
  if (next == NULL || *next == '\0') {
    if (first_word > optind || first_word == 0) first_word = optind;
    if (last_word > optind || last_word == 0) last_word = optind;
    if (order == permute) {
      settle(argv);
      while (optind < argc && !is_option(argv[optind])) ++optind;
      last_word = optind;
    }
    if (optind < argc && strcmp(argv[optind], "--") == 0) {
      ++optind;
      if (order == permute) settle(argv);
      if (first_word == last_word) first_word = optind;
      last_word = optind = argc;
    }
    if (optind >= argc) {
      if (order == permute && first_word != last_word) optind = first_word;
      return -1;
    }
    char* const word = argv[optind];
    if (!is_option(word)) {
      if (order == stop_at_argument) return -1;
      optarg = argv[optind++];
      return 1;
    }
    if (options != NULL) {
      if (word[1] == '-')
        return take_long(argc, argv, "--", word + 2, options, index, tell, missing);
      if (one_dash_is_long && (word[2] != '\0' || strchr(allowed, word[1]) == NULL) &&
          (strchr(allowed, word[1]) == NULL ||
           find_long(options, word + 1, strcspn(word + 1, "=")) >= 0))
        return take_long(argc, argv, "-", word + 1, options, index, tell, missing);
    }
    next = word + 1;
  }
  return take_short(argc, argv, allowed, tell, missing);
}

REPLACES int getopt(int argc, char* const* argv, const char* allowed) {
  return take(argc, (char**)argv, allowed, NULL, NULL, 0);
}
REPLACES int getopt_long(int argc, char* const* argv, const char* allowed, const struct option* options,
                int* index) {
  return take(argc, (char**)argv, allowed, options, index, 0);
}
REPLACES int getopt_long_only(int argc, char* const* argv, const char* allowed, const struct option* options,
                     int* index) {
  return take(argc, (char**)argv, allowed, options, index, 1);
}

/* The hash table of hsearch(), one for each rank. */
#define _GNU_SOURCE
#include <search.h>
#include <stddef.h>

#include "process/life/program_replaces.h"

LINKED_AS(search);

static struct hsearch_data table;

REPLACES int hcreate(size_t size) { return hcreate_r(size, &table); }
REPLACES void hdestroy(void) { hdestroy_r(&table); }
REPLACES ENTRY* hsearch(ENTRY item, ACTION action) {
  ENTRY* found;
  return hsearch_r(item, action, &found, &table) != 0 ? found : NULL;
}

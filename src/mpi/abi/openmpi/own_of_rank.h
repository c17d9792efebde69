/* What Open MPI's interface has for a rank alone. A part of of_rank.c, whose tables it uses. */

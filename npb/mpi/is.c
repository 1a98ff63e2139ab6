/*
 * IS on MPI processes, for comparison with the OpenMP version. A process has the keys and the run of buckets that a
 * thread has there. In place of the barrier between the steps the processes tell each other where their buckets lie,
 * and send each other the keys of the other's buckets, to the same places of an array of full extent.
 */
#include "ranking.h"
#include "report.h"
#include "result.h"
#include "world.h"

/* A process, what it ranks, and what goes to and comes from each process in a ranking. */
struct part {
    struct member self;
    struct ranker ranker;
    struct directory *directories;
    struct division send, receive;
};

static struct part part_of(struct member self)
{
    return (struct part){
        .self = self,
        .ranker = {.keys = team_span(&self, KEYS)},
        .directories = allocate((size_t)self.size, sizeof(struct directory)),
        .send = world_division(&self, 0, 1, 0),
        .receive = world_division(&self, 0, 1, 0),
    };
}

/* Some buckets of a process's part of the bucketed keys. */
static void piece(const struct division *division, int rank, const struct directory *directory, struct span buckets)
{
    division->start[rank] = directory->begin[buckets.lo];
    division->count[rank] = directory->begin[buckets.hi] - directory->begin[buckets.lo];
}

/* Brings the keys of the process's buckets from all others. */
static void exchange_keys(const struct part *part)
{
    const struct directory *mine = &part->directories[part->self.rank];

    for (int t = 0; t < part->self.size; t++) {
        struct ranker theirs;
        keys_deal_buckets(&(struct member){.rank = t, .size = part->self.size}, part->directories, &theirs);
        piece(&part->send, t, mine, theirs.buckets);
        piece(&part->receive, t, &part->directories[t], part->ranker.buckets);
    }
    part->send.count[part->self.rank] = 0; /* its own keys are there already */
    part->receive.count[part->self.rank] = 0;
    MPI_Alltoallv(is_bucketed, part->send.count, part->send.start, MPI_INT, is_bucketed, part->receive.count,
                  part->receive.start, MPI_INT, MPI_COMM_WORLD);
}

/* Ranks all keys. Returns how many of the probed ones this process has ranked rightly. */
static int step(struct part *part, int iteration)
{
    int probe_key[PROBES];

    is_change_keys(part->ranker.keys, iteration);
    is_probe_keys(part->ranker.keys, probe_key);
    MPI_Allreduce(MPI_IN_PLACE, probe_key, PROBES, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    keys_fill_buckets(part->ranker.keys, &part->directories[part->self.rank]);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, part->directories, sizeof(struct directory), MPI_BYTE,
                  MPI_COMM_WORLD);
    keys_deal_buckets(&part->self, part->directories, &part->ranker);
    exchange_keys(part);
    keys_rank_buckets(part->self.size, part->directories, &part->ranker);
    return is_probes_passed(iteration, probe_key, part->ranker.buckets);
}

/* Sorts the keys of the process's buckets. Returns how many are smaller than one before, in other processes as well. */
static long sort_keys(const struct part *part)
{
    struct span keys = {part->ranker.smaller, part->ranker.smaller};
    int largest_before = 0;

    for (int t = 0; t < part->self.size; t++) {
        const int *begin = part->directories[t].begin;
        keys.hi += begin[part->ranker.buckets.hi] - begin[part->ranker.buckets.lo];
    }
    keys_place(part->self.size, part->directories, part->ranker.buckets);
    const bool empty = keys.lo == keys.hi;
    const int largest = empty ? 0 : is_keys[keys.hi - 1];
    MPI_Exscan(&largest, &largest_before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return keys_misplaced(keys) + (!empty && part->self.rank > 0 && is_keys[keys.lo] < largest_before);
}

int main(void)
{
    struct part part = part_of(world_begin());
    const bool speaks = part.self.rank == 0;
    int passed = 0, status = 0;

    if (speaks)
        is_heading(part.self.size);
    keys_draw(part.ranker.keys);
    step(&part, 1); /* untimed: touches all code and data */
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = wall_seconds();
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        if (speaks)
            is_iteration(iteration);
        passed += step(&part, iteration);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = wall_seconds() - start;
    double totals[] = {passed, (double)sort_keys(&part)};
    world_sum(totals, 2);
    if (speaks)
        status = is_result((int)totals[0], (long)totals[1], seconds, part.self.size);
    MPI_Finalize();
    return status;
}

/* A tool of the OpenMP tools interface that writes what it is told: one file a process, the threads one after the other.
 *
 * A line is: thread, event, kind or flags, `begin` or `end` or `-`, a number, parallel region, task, and the offset in the program that the runtime gives as
 * the place of the construct. A thread is named by the number it had in its first region. Regions and tasks are numbered by the tool,
 * through the words that the runtime keeps for it; 0 is none. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { MOST = 1 << 14 };

struct event {
    const char *name, *where;
    unsigned kind;
    unsigned long number, region, task, task2, place;
};

struct thread {
    struct thread *next;
    int number;
    unsigned count;
    struct event events[MOST];
};

static _Thread_local struct thread *self;
static _Atomic(struct thread *) threads;
static atomic_ulong ids;
static ompt_get_thread_data_t get_thread_data;
static ompt_get_task_info_t get_task_info;
static ompt_get_parallel_info_t get_parallel_info;
static char *program;

static struct thread *thread(void) {
    if (!self) {
        self = calloc(1, sizeof *self);
        self->number = -1;
        self->next = atomic_load(&threads);
        while (!atomic_compare_exchange_weak(&threads, &self->next, self)) {}
    }
    return self;
}

static unsigned long id(const ompt_data_t *data) { return data ? data->value : 0; }

static void number(ompt_data_t *data) { data->value = atomic_fetch_add(&ids, 1) + 1; }

static void add(struct event event) {
    struct thread *to = thread();
    if (to->count == MOST) abort();
    if (event.place) {
        Dl_info info;
        event.place = dladdr((void *)event.place, &info) && info.dli_fbase == program ? event.place - (unsigned long)program : 1;
    }
    to->events[to->count++] = event;
}

#define ADD(...) add((struct event){__VA_ARGS__})

static const char *where(ompt_scope_endpoint_t endpoint) {
    return endpoint == ompt_scope_begin ? "begin" : endpoint == ompt_scope_end ? "end" : "beginend";
}

/* What the runtime says when asked is what it says by itself. */
static void expect(int right, const char *what) {
    if (!right) ADD(what, "wrong");
}

static void thread_begin(ompt_thread_t kind, ompt_data_t *data) {
    number(data);
    ADD("thread", "begin", kind);
    expect(get_thread_data() == data, "get_thread_data");
}

static void thread_end(ompt_data_t *data) {
    ADD("thread", "end");
    expect(id(data) != 0, "thread_end");
}

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *region, unsigned wanted, int flags, const void *place) {
    number(region);
    ADD("parallel", "begin", (unsigned)flags, wanted, id(region), id(task), 0, (unsigned long)place);
    expect(frame && frame->enter_frame.ptr, "enter_frame");
}

static void parallel_end(ompt_data_t *region, ompt_data_t *task, int flags, const void *place) {
    ADD("parallel", "end", (unsigned)flags, 0, id(region), id(task), 0, (unsigned long)place);
}

static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *region, ompt_data_t *task, unsigned size, unsigned index, int flags) {
    if (endpoint == ompt_scope_begin) number(task);
    if (thread()->number < 0 && !(flags & ompt_task_initial)) thread()->number = index;
    ADD("implicit_task", where(endpoint), (unsigned)flags, (unsigned long)size << 32 | index, id(region), id(task));
    int team, tid;
    ompt_data_t *found, *around;
    if (endpoint == ompt_scope_begin && !(flags & ompt_task_initial)) {
        expect(get_task_info(0, 0, &found, 0, &around, &tid) == 2 && found == task && around == region && tid == (int)index, "get_task_info");
        expect(get_parallel_info(0, &around, &team) == 2 && around == region && team == (int)size, "get_parallel_info");
    }
}

static void task_create(ompt_data_t *parent, const ompt_frame_t *frame, ompt_data_t *task, int flags, int dependences, const void *place) {
    number(task);
    ADD("task_create", dependences ? "dependent" : "-", (unsigned)flags, 0, 0, id(parent), id(task), (unsigned long)place);
    expect(frame != 0, "encountering frame");
}

static void task_schedule(ompt_data_t *from, ompt_task_status_t status, ompt_data_t *to) {
    ADD("task_schedule", to ? "-" : "none", status, 0, 0, id(from), id(to));
}

static void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *region, ompt_data_t *task, const void *place) {
    ADD("sync_region", where(endpoint), kind, 0, id(region), id(task), 0, (unsigned long)place);
}

static void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *region, ompt_data_t *task, const void *place) {
    ADD("sync_region_wait", where(endpoint), kind, 0, id(region), id(task), 0, (unsigned long)place);
}

static void reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *region, ompt_data_t *task, const void *place) {
    ADD("reduction", where(endpoint), kind, 0, id(region), id(task), 0, (unsigned long)place);
}

static void work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *region, ompt_data_t *task, uint64_t count, const void *place) {
    ADD("work", where(endpoint), kind, count, id(region), id(task), 0, (unsigned long)place);
}

static void dispatch(ompt_data_t *region, ompt_data_t *task, ompt_dispatch_t kind, ompt_data_t instance) {
    const ompt_dispatch_chunk_t *chunk = instance.ptr;
    ADD("dispatch", "-", kind, kind == ompt_dispatch_ws_loop_chunk ? chunk->iterations : 0, id(region), id(task));
}

static void masked(ompt_scope_endpoint_t endpoint, ompt_data_t *region, ompt_data_t *task, const void *place) {
    ADD("masked", where(endpoint), 0, 0, id(region), id(task), 0, (unsigned long)place);
}

static void mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t wait, const void *place) {
    ADD("mutex_acquire", "-", kind, hint, 0, 0, 0, (unsigned long)place);
    expect(wait && impl, "mutex");
}

static void lock_init(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t wait, const void *place) {
    ADD("lock_init", "-", kind, hint, 0, 0, 0, (unsigned long)place);
    expect(wait && impl, "mutex");
}

static void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t wait, const void *place) {
    ADD("mutex_acquired", "-", kind, 0, 0, 0, 0, (unsigned long)place);
    expect(wait != 0, "mutex");
}

static void mutex_released(ompt_mutex_t kind, ompt_wait_id_t wait, const void *place) {
    ADD("mutex_released", "-", kind, 0, 0, 0, 0, (unsigned long)place);
    expect(wait != 0, "mutex");
}

static void lock_destroy(ompt_mutex_t kind, ompt_wait_id_t wait, const void *place) {
    ADD("lock_destroy", "-", kind, 0, 0, 0, 0, (unsigned long)place);
    expect(wait != 0, "mutex");
}

static void nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t wait, const void *place) {
    ADD("nest_lock", where(endpoint), 0, 0, 0, 0, 0, (unsigned long)place);
    expect(wait != 0, "mutex");
}

static void dependences(ompt_data_t *task, const ompt_dependence_t *list, int count) {
    for (int i = 0; i < count; i++) ADD("dependence", "-", list[i].dependence_type, 0, 0, id(task));
}

static void task_dependence(ompt_data_t *from, ompt_data_t *to) { ADD("task_dependence", "-", 0, 0, 0, id(from), id(to)); }

static void flush(ompt_data_t *data, const void *place) {
    ADD("flush", "-", 0, 0, 0, 0, 0, (unsigned long)place);
    expect(data == get_thread_data(), "flush");
}

static void cancel(ompt_data_t *task, int flags, const void *place) { ADD("cancel", "-", (unsigned)flags, 0, 0, id(task), 0, (unsigned long)place); }

static int control_tool(uint64_t command, uint64_t modifier, void *argument, const void *place) {
    ADD("control_tool", "-", (unsigned)command, modifier, 0, 0, 0, (unsigned long)place);
    return argument ? 7 : 0;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    (void)device;
    (void)data;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    get_thread_data = (ompt_get_thread_data_t)lookup("ompt_get_thread_data");
    get_task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
    get_parallel_info = (ompt_get_parallel_info_t)lookup("ompt_get_parallel_info");
#define SET(name) set(ompt_callback_##name, (ompt_callback_t)name)
    SET(thread_begin), SET(thread_end), SET(parallel_begin), SET(parallel_end), SET(implicit_task);
    SET(task_create), SET(task_schedule), SET(dependences), SET(task_dependence);
    SET(sync_region), SET(sync_region_wait), SET(reduction), SET(work), SET(dispatch), SET(masked);
    SET(mutex_acquire), SET(mutex_acquired), SET(mutex_released), SET(lock_init), SET(lock_destroy), SET(nest_lock);
    SET(flush), SET(cancel), SET(control_tool);
    return 1;
}

static void finalize(ompt_data_t *data) {
    (void)data;
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", getenv("EVENTS"), (int)getpid());
    FILE *file = fopen(name, "w");
    if (!file) abort();
    for (struct thread *t = threads; t; t = t->next)
        for (unsigned i = 0; i < t->count; i++) {
            struct event *e = &t->events[i];
            fprintf(file, "%d %s %x %s %lx %lu %lu %lu %lx\n", t->number, e->name, e->kind, e->where, e->number, e->region, e->task, e->task2, e->place);
        }
    fclose(file);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    Dl_info info;
    if (version < 201611 || !runtime || !dladdr((void *)getauxval(AT_ENTRY), &info)) return NULL;
    program = info.dli_fbase;
    return &result;
}

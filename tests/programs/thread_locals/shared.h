/* Thread-local variables that several files know. */
#define ROOM 8
extern _Thread_local long counter;
extern _Thread_local int values[];
extern _Thread_local double hidden_from_others;
int *own_values(void);
long *own_counter(void);
void publish(int thread);
long sum_of_published(int threads);

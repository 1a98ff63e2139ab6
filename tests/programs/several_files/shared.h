extern int common_array[100];
extern long common_scalar;
extern int exported[50];
extern int alias_of_exported[50];
extern const char *message;
void other_file(int round);
int hidden_counter(void);

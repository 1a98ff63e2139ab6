/* IS: class parameters and the reference ranks for the partial verification. */
#ifndef IS_PARAMS_H
#define IS_PARAMS_H

#define PROBES 5

/*
 * PROBE_INDEX are positions of keys, PROBE_RANK their ranks in "iteration 0". Every iteration replaces one small
 * key and one large one, which moves a rank by PROBE_DRIFT each time.
 */
#if NPB_CLASS == 'S'
#define LOG_KEYS 16
#define LOG_MAX_KEY 11
#define LOG_BUCKETS 9
#define PROBE_INDEX {48427, 17148, 23627, 62548, 4431}
#define PROBE_RANK {0, 18, 346, 64917, 65463}
#define PROBE_DRIFT {1, 1, 1, -1, -1}
#elif NPB_CLASS == 'W'
#define LOG_KEYS 20
#define LOG_MAX_KEY 16
#define LOG_BUCKETS 10
#define PROBE_INDEX {357773, 934767, 875723, 898999, 404505}
#define PROBE_RANK {1249 - 2, 11698 - 2, 1039987, 1043896, 1048018}
#define PROBE_DRIFT {1, 1, -1, -1, -1}
#elif NPB_CLASS == 'A'
#define LOG_KEYS 23
#define LOG_MAX_KEY 19
#define LOG_BUCKETS 10
#define PROBE_INDEX {2112377, 662041, 5336171, 3642833, 4250760}
#define PROBE_RANK {104 - 1, 17523 - 1, 123928 - 1, 8288932 + 1, 8388264 + 1}
#define PROBE_DRIFT {1, 1, 1, -1, -1}
#elif NPB_CLASS == 'B'
#define LOG_KEYS 25
#define LOG_MAX_KEY 21
#define LOG_BUCKETS 10
#define PROBE_INDEX {41869, 812306, 5102857, 18232239, 26860214}
#define PROBE_RANK {33422937, 10244, 59149, 33135281, 99}
#define PROBE_DRIFT {-1, 1, 1, -1, 1}
#elif NPB_CLASS == 'C'
#define LOG_KEYS 27
#define LOG_MAX_KEY 23
#define LOG_BUCKETS 10
#define PROBE_INDEX {44172927, 72999161, 74326391, 129606274, 21736814}
#define PROBE_RANK {61147, 882988, 266290, 133997595, 133525895}
#define PROBE_DRIFT {1, 1, 1, -1, -1}
#else
#error "IS: unknown class"
#endif

#define KEYS (1 << LOG_KEYS)
#define MAX_KEY (1 << LOG_MAX_KEY)
#define BUCKETS (1 << LOG_BUCKETS)
#define LOG_BUCKET_WIDTH (LOG_MAX_KEY - LOG_BUCKETS)
#define ITERATIONS 10

#endif

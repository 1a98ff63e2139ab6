/* EP: class parameters and reference sums. */
#ifndef EP_PARAMS_H
#define EP_PARAMS_H

#if NPB_CLASS == 'S'
#define LOG_PAIRS 24
#define SUM_X (-3.247834652034740e+3)
#define SUM_Y (-6.958407078382297e+3)
#elif NPB_CLASS == 'W'
#define LOG_PAIRS 25
#define SUM_X (-2.863319731645753e+3)
#define SUM_Y (-6.320053679109499e+3)
#elif NPB_CLASS == 'A'
#define LOG_PAIRS 28
#define SUM_X (-4.295875165629892e+3)
#define SUM_Y (-1.580732573678431e+4)
#elif NPB_CLASS == 'B'
#define LOG_PAIRS 30
#define SUM_X (4.033815542441498e+4)
#define SUM_Y (-2.660669192809235e+4)
#elif NPB_CLASS == 'C'
#define LOG_PAIRS 32
#define SUM_X (4.764367927995374e+4)
#define SUM_Y (-8.084072988043731e+4)
#else
#error "EP: unknown class"
#endif

#define TOLERANCE 1e-8

/* Annuli that deviates are counted in. */
#define ANNULI 10

#endif

/* The reference values of LU. */
#include "verify.h"

#include "report.h"

#include <math.h>
#include <stdio.h>

static const struct results reference = {
#if NPB_CLASS == 'S'
    .residual = {{1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03, 1.5029584435994323e-03,
                  3.4264073155896461e-02}},
    .error = {{6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05, 5.8474222595157350e-05,
               1.3103347914111294e-03}},
    .surface_integral = 7.8418928865937083e+00,
#elif NPB_CLASS == 'W'
    .residual = {{0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01, 0.2326187750252e+01,
                  0.2826799444189e+02}},
    .error = {{0.4867877144216e+00, 0.5064652880982e-01, 0.9281818101960e-01, 0.8570126542733e-01,
               0.1084277417792e+01}},
    .surface_integral = 0.1161399311023e+02,
#elif NPB_CLASS == 'A'
    .residual = {{7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02, 1.7845301160418537e+02,
                  1.8384760349464247e+03}},
    .error = {{2.9964085685471943e+01, 2.8194576365003349e+00, 7.3473412698774742e+00, 6.7139225687777051e+00,
               7.0715315688392578e+01}},
    .surface_integral = 2.6030925604886277e+01,
#elif NPB_CLASS == 'B'
    .residual = {{3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02, 7.7812774739425265e+02,
                  7.3087969592545314e+03}},
    .error = {{1.1401176380212709e+02, 8.1098963655421574e+00, 2.8480597317698308e+01, 2.5905394567832939e+01,
               2.6054907504857413e+02}},
    .surface_integral = 4.7887162703308227e+01,
#elif NPB_CLASS == 'C'
    .residual = {{1.03766980323537846e+04, 8.92212458801008552e+02, 2.56238814582660871e+03, 2.19194343857831427e+03,
                  1.78078057261061185e+04}},
    .error = {{2.15986399716949279e+02, 1.55789559239863600e+01, 5.41318863077207766e+01, 4.82262643154045421e+01,
               4.55902910043250358e+02}},
    .surface_integral = 6.66404553572181300e+01,
#endif
};

static bool compare(const char *what, double value, double expected)
{
    const bool same = agrees(value, expected, TOLERANCE);

    printf(" %-20s %20.13e %20.13e %12.3e%s\n", what, value, expected, fabs((value - expected) / expected),
           same ? "" : "  too far off");
    return same;
}

static bool compare_vectors(const char *what, const struct vector *value, const struct vector *expected)
{
    bool same = true;

    for (int m = 0; m < COMPONENTS; m++)
        same &= compare(what, value->value[m], expected->value[m]);
    return same;
}

bool results_agree(const struct results *results)
{
    printf("\n %-20s %20s %20s %12s\n", "", "computed", "published", "difference");
    const bool residual = compare_vectors("Norms of residual", &results->residual, &reference.residual);
    const bool error = compare_vectors("Norms of error", &results->error, &reference.error);
    return compare("Surface integral", results->surface_integral, reference.surface_integral) && residual && error;
}

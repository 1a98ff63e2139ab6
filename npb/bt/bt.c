/* BT, the block-tridiagonal application (RNR-94-007, section 3): sweeps in scheme.h, the rest shared with SP. */
#include "params.h"
#include "simulation.h"

int main(void)
{
    const double n = POINTS;

    return simulate(&(struct application){
        .name = "BT",
        .step_operations = 3478.8 * n * n * n - 17655.7 * n * n + 28023.7 * n,
        .residual = RESIDUAL_NORMS,
        .error = ERROR_NORMS,
    });
}

/* SP, the scalar-pentadiagonal application (RNR-94-007, section 3): sweeps in scheme.h, the rest shared with BT. */
#include "params.h"
#include "simulation.h"

int main(void)
{
    const double n = POINTS;

    return simulate(&(struct application){
        .name = "SP",
        .step_operations = 881.174 * n * n * n - 4683.91 * n * n + 11484.5 * n - 19272.4,
        .residual = RESIDUAL_NORMS,
        .error = ERROR_NORMS,
    });
}
